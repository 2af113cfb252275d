import { PassThrough } from 'node:stream'
import { connect } from 'tenon/client'
import { McpServer, StdioServerTransport } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { node } from './support.ts'

const text = 'one\u2028two\u2029three'

/** Reads lines as `readline` of newer Node.js versions does, which also ends them at U+2028 and U+2029. */
const readlineServer = `
const info = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'readline', version: '1' } }
let held = ''
process.stdin.setEncoding('utf8').on('data', (chunk) => {
  const lines = (held + chunk).split(/\\n|\\u2028|\\u2029/)
  held = lines.pop()
  for (const line of lines) answer(line)
})
function answer(line) {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const content = [{ type: 'text', text: String(params?.arguments?.text === ${JSON.stringify(text)}) }]
  const result = method === 'initialize' ? info : { content }
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
}`

describe('a message that contains U+2028 or U+2029, on stdio', () => {
  it('is sent as one line by a client, also for servers that split lines there', async () => {
    await using client = await connect({ command: node, args: ['-e', readlineServer] }, { revision: '2025-11-25' })
    expect((await client.callTool('echo', { text })).text).toBe('true')
  })

  it('is sent as one line by a server, also for clients that split lines there', async () => {
    const server = new McpServer({ name: 'echo', version: '1.0.0' })
    server.registerTool('echo', {}, () => text)
    const [stdin, stdout] = [new PassThrough(), new PassThrough()]
    const link = await server.connect(new StdioServerTransport(stdin, stdout))
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
    stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`)
    stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'echo' } })}\n`)
    let written = ''
    for await (const chunk of stdout) {
      written += chunk
      if (written.includes('"id":2')) break
    }
    const lines = written.trimEnd().split(/[\n\u2028\u2029]/)
    expect(lines.map((line) => JSON.parse(line).id)).toEqual([1, 2])
    expect(JSON.parse(lines[1]!).result.content).toEqual([{ type: 'text', text }])
    await link.close()
  })
})
