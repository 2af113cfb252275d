import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { Client } from '../../src/client/index.ts'
import { StdioClientTransport, type StdioServerParameters } from '../../src/client/stdio.ts'
import type { JSONRPCMessage } from '../../src/types.ts'

const script = fileURLToPath(new URL('stdio-server.js', import.meta.url))
const command: StdioServerParameters = { command: process.execPath, args: [script], stderr: 'pipe' }

describe('StdioClientTransport', () => {
  it('connects a client to a real process, and ends the process on close', async () => {
    const transport = new StdioClientTransport(command)
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(transport)
    expect(client.getServerVersion()).toEqual({ name: 'plain', version: '1' })
    const { pid } = transport
    expect(pid).toBeTypeOf('number')
    await client.close()
    expect(() => process.kill(pid as number, 0)).toThrow()
    expect(transport.pid).toBeNull()
  })

  it('passes only the default environment and the given variables', async () => {
    process.env.TEST_SECRET = 'secret'
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(new StdioClientTransport({ ...command, env: { GIVEN: 'yes' } }))
    const { content } = await client.callTool({ name: 'environment' })
    delete process.env.TEST_SECRET
    const env = JSON.parse((content as { text: string }[])[0]!.text)
    expect(env).toMatchObject({ GIVEN: 'yes', PATH: process.env.PATH })
    expect(env.TEST_SECRET).toBeUndefined()
    await client.close()
  })

  it('carries raw messages without a client, and the stderr of the process', async () => {
    const transport = new StdioClientTransport(command)
    const received: JSONRPCMessage[] = []
    let stderr = ''
    transport.stderr?.on('data', (chunk) => {
      stderr += chunk
    })
    const answered = new Promise<void>((resolve) => {
      transport.onmessage = (message) => {
        received.push(message)
        resolve()
      }
    })
    await transport.start()
    await expect(transport.start()).rejects.toThrow('already started')
    await transport.send({ jsonrpc: '2.0', id: 'a', method: 'ping' })
    await answered
    expect(received).toEqual([{ jsonrpc: '2.0', id: 'a', result: {} }])
    // It has a pipe of its own, which may be read later.
    await expect.poll(() => stderr).toContain('started')
    await transport.close()
  })

  it('rejects with the error of the system if the program does not exist', async () => {
    const transport = new StdioClientTransport({ command: 'no-such-program-here' })
    await expect(new Client({ name: 'test', version: '1' }).connect(transport)).rejects.toMatchObject({
      code: 'ENOENT',
    })
  })

  it('reports the end of the process, and fails requests that wait', async () => {
    const client = new Client({ name: 'test', version: '1' })
    const closed = new Promise<void>((resolve) => {
      client.onclose = resolve
    })
    await client.connect(new StdioClientTransport(command))
    await expect(client.callTool({ name: 'exit' })).rejects.toMatchObject({ code: -32000 })
    await closed
    await expect(client.listTools()).rejects.toThrow('Not connected')
  })
})
