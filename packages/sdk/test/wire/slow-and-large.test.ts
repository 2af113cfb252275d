import { connect } from 'tenon/client'
import { describe, expect, it } from 'vitest'

const shout = (script: string) => ({ command: process.execPath, args: ['-e', script] })

describe('a server process', () => {
  it('that never answers is described by what it wrote to stderr, and the option is named', async () => {
    const target = shout('console.error("missing API_KEY"); process.stdin.resume()')
    const error = await connect(target, { connectTimeoutMs: 1_500, probeTimeoutMs: 200 }).catch((reason) => reason)
    expect(error).toMatchObject({ code: 'timeout', timeoutMs: 1_500 })
    expect(error.message).toContain('connectTimeoutMs')
    expect(error.message).toContain('missing API_KEY')
  })

  it('whose answer is longer than allowed fails that call at once', async () => {
    const answers = `
      require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
        const { id, method } = JSON.parse(line)
        const result = method === 'initialize'
          ? { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
          : { content: [{ type: 'text', text: 'x'.repeat(5_000_000) }] }
        if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
      })`
    const target = { ...shout(answers), maxMessageBytes: 1_000_000 }
    await using client = await connect(target, { revision: '2025-11-25' })
    const error = await client.callTool('big').catch((reason) => reason)
    expect(error).toMatchObject({ code: 'invalid-response', message: expect.stringContaining('longer than 1000000') })
  })

  it('that prints something else is quoted', async () => {
    const script = `console.log('hello from a stray print'); require(${JSON.stringify('node:fs')})`
    const errors: string[] = []
    const { Client, StdioClientTransport } = await import('tenon/client')
    const client = new Client({ name: 'c', version: '1' }, { connectTimeoutMs: 2_000, restarts: 0 })
    client.on('error', ({ error }) => errors.push(String(error)))
    await client.connect(new StdioClientTransport(shout(script))).catch(() => {})
    expect(errors.join('\n')).toContain('hello from a stray print')
  })
})
