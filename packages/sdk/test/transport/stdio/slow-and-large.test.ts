import { connect } from 'tenon/client'
import { describe, expect, it } from 'vitest'

const shout = (script: string) => ({ command: process.execPath, args: ['-e', script] })

describe('errors of a server process', () => {
  it('contain its stderr and name the timeout option when it never answers', async () => {
    const target = shout('console.error("missing API_KEY"); process.stdin.resume()')
    const error = await connect(target, { connectTimeoutMs: 1_500, probeTimeoutMs: 200 }).catch((reason) => reason)
    expect(error).toMatchObject({ code: 'timeout', timeoutMs: 1_500 })
    expect(error.message).toContain('connectTimeoutMs')
    expect(error.message).toContain('missing API_KEY')
  })

  it('contain its output when it prints text and exits', async () => {
    const error = await connect(shout('console.log("usage: tool [options]\\nno command given")')).catch((no) => no)
    expect(error).toMatchObject({ code: 'closed', detail: { stdout: 'usage: tool [options]\nno command given' } })
    expect(error.message).toContain('It printed text to stdout, which must carry MCP messages only')
    expect(error.message).toContain('usage: tool [options]\nno command given')
  })

  it('contain its output when it prints text without a line break and exits', async () => {
    const error = await connect(shout('process.stdout.write("v22.1.0")')).catch((no) => no)
    expect(error.message).toContain('v22.1.0')
  })

  it('contain its output when it prints text and never answers', async () => {
    const target = shout('console.log("listening on port 3000"); process.stdin.resume()')
    const error = await connect(target, { connectTimeoutMs: 1_500, probeTimeoutMs: 200 }).catch((reason) => reason)
    expect(error).toMatchObject({ code: 'timeout' })
    expect(error.message).toContain('listening on port 3000')
  })

  it('do not contain its earlier output once it sent messages', async () => {
    const answers = `
      console.log('starting')
      require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
        const { id, method } = JSON.parse(line)
        if (method === 'tools/call') process.exit(3)
        const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
        if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
      })`
    await using client = await connect(shout(answers), { revision: '2025-11-25', restarts: 0 })
    const error = await client.callTool('any').catch((reason) => reason)
    expect(error).toMatchObject({ code: 'closed', detail: { exitCode: 3 } })
    expect(error.message).not.toContain('starting')
  })

  it('contain only the beginning of a long output', async () => {
    const error = await connect(shout('console.log("x".repeat(100_000)); console.log("y".repeat(1e6))')).catch(
      (no) => no,
    )
    expect(error.message.length).toBeLessThan(5_000)
    expect(error.message).toContain('xxx')
  })

  it('reject a call immediately when its response is longer than maxMessageBytes', async () => {
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

  it('are reported with the text when it prints something other than a message', async () => {
    const script = `console.log('hello from a stray print'); require(${JSON.stringify('node:fs')})`
    const errors: string[] = []
    const { Client, StdioClientTransport } = await import('tenon/client')
    const client = new Client({ name: 'c', version: '1' }, { connectTimeoutMs: 2_000, restarts: 0 })
    client.on('error', ({ error }) => errors.push(String(error)))
    await client.connect(new StdioClientTransport(shout(script))).catch(() => {})
    expect(errors.join('\n')).toContain('hello from a stray print')
  })
})
