import { Writable } from 'node:stream'
import { ClosedError, connect, McpError, StdioClientTransport } from 'tenon/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isAlive } from '../../kit/child-process.ts'
import { eventually } from '../../kit/eventually.ts'
import { everyRevision } from '../../kit/revisions.ts'
import { node, open, stubborn, takeNotes, wireServer } from './support.ts'

describe('a client that starts a server', () => {
  everyRevision(
    'talks to the child process over stdin and stdout [STDIO-001, STDIO-002, STDIO-010]',
    async (revision) => {
      const transport = new StdioClientTransport(wireServer)
      const client = await open(transport, { revision })
      expect(client.revision).toBe(revision)
      const pid = Number((await client.callTool('pid')).text)
      expect(pid).toBe(transport.pid)
      expect(pid).not.toBe(process.pid)
      await client.close()
      expect(isAlive(pid)).toBe(false)
    },
  )

  everyRevision(
    'writes only JSON-RPC messages to its stdin, one per line [STDIO-009, STDIO-003, STDIO-004, RPC-019]',
    async (revision) => {
      const notes = takeNotes()
      const client = await open(new StdioClientTransport(stubborn(notes, 'modern')), { revision })
      const text = 'line\nbreak\r\n \u2028 é€😀'
      await client.request('custom/any', { text }).catch(() => {})
      client.notify('notifications/custom', { text })
      await client.ping().catch(() => {})
      await client.close()
      const said = notes.lines.filter((line) => line.startsWith('line ')).map((line) => JSON.parse(line.slice(5)))
      expect(said.length).toBeGreaterThanOrEqual(3)
      for (const message of said) expect(message).toMatchObject({ jsonrpc: '2.0', method: expect.any(String) })
      expect(said.find(({ method }) => method === 'custom/any').params.text).toBe(text)
      expect(said.find(({ method }) => method === 'notifications/custom').params.text).toBe(text)
    },
  )

  it('sends all metadata of a request in its body [STDIO-020]', async () => {
    const notes = takeNotes()
    const client = await open(new StdioClientTransport(stubborn(notes, 'modern')), { revision: '2026-07-28' })
    await client.request('custom/any', { a: 1 }, { onProgress: () => {} }).catch(() => {})
    await client.close()
    const said = notes.lines.filter((line) => line.startsWith('line ')).map((line) => JSON.parse(line.slice(5)))
    const requests = said.filter(({ id }) => id !== undefined)
    expect(requests.length).toBeGreaterThanOrEqual(2)
    for (const request of requests) {
      expect(Object.keys(request).sort()).toEqual(['id', 'jsonrpc', 'method', 'params'])
      expect(request.params._meta).toMatchObject({
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'tenon' },
        'io.modelcontextprotocol/clientCapabilities': {},
      })
    }
    expect(requests.at(-1).params._meta.progressToken).toBeDefined()
  })

  it.each(['no-such-program-anywhere', '/no/such/file'])(
    'rejects with spawn-failed when %s does not exist',
    async (command) => {
      const error = await connect({ command }).catch((reason) => reason)
      expect(error).toBeInstanceOf(McpError)
      expect(error).toMatchObject({ code: 'spawn-failed' })
      expect(error.message).toContain(JSON.stringify(command))
    },
  )

  it('names the way out when the file of the program does not exist', async () => {
    const connecting = connect({ command: process.execPath, args: ['missing-file.js'] })
    await expect(connecting).rejects.toThrow(
      '(exit code 1: a file or module was not found, so check the paths in args, and cwd). The end of its stderr:',
    )
  })

  it('rejects with spawn-failed when the working directory does not exist', async () => {
    await expect(connect({ ...wireServer, cwd: '/no/such/folder' })).rejects.toMatchObject({ code: 'spawn-failed' })
  })

  it('never runs the command through a shell', async () => {
    const notes = takeNotes()
    await expect(connect({ command: `${node} -v; touch ${notes.file}` })).rejects.toMatchObject({
      code: 'spawn-failed',
    })
    const client = await open(
      new StdioClientTransport({ ...wireServer, args: [...wireServer.args, `; touch ${notes.file}`] }),
      {},
    )
    await client.callTool('pid')
    expect(notes.lines).toEqual([])
  })

  it('passes only the safe environment variables and those that the user adds', async () => {
    process.env.TENON_TEST_SECRET = 'do not tell'
    onTestFinished(() => {
      delete process.env.TENON_TEST_SECRET
    })
    const env = { TENON_TEST_ADDED: 'yes', HOME: '/somewhere/else' }
    const client = await open(new StdioClientTransport({ ...wireServer, env }), {})
    const seen = JSON.parse((await client.callTool('environment')).text)
    expect(seen).toMatchObject({ PATH: process.env.PATH, ...env })
    expect(seen).not.toHaveProperty('TENON_TEST_SECRET')
    expect(Object.keys(seen).filter((name) => /^(npm_|VITEST|NODE_)/.test(name))).toEqual([])
  })
})

describe('a transport that is started before connect()', () => {
  everyRevision('has one child process, which the client uses on connect', async (revision) => {
    const transport = new StdioClientTransport(wireServer)
    await transport.start()
    const { pid } = transport
    const client = await open(transport, { revision })
    expect(transport.pid).toBe(pid)
    expect(Number((await client.callTool('pid')).text)).toBe(pid)
    await client.close()
    expect(isAlive(pid!)).toBe(false)
  })

  it('starts one child process, however often start() is called', async () => {
    const transport = new StdioClientTransport(wireServer)
    await Promise.all([transport.start(), transport.start()])
    const { pid } = transport
    await transport.start()
    expect(transport.pid).toBe(pid)
    await transport.close()
    expect(isAlive(pid!)).toBe(false)
  })

  it('can be started again after the program was not found', async () => {
    const transport = new StdioClientTransport({ command: 'no-such-program-anywhere' })
    for (const _ of [1, 2]) await expect(transport.start()).rejects.toMatchObject({ code: 'spawn-failed' })
  })

  it('can be started again after it was closed', async () => {
    const transport = new StdioClientTransport(wireServer)
    await transport.start()
    const { pid } = transport
    await transport.close()
    await transport.start()
    expect(transport.pid).not.toBe(pid)
    await transport.close()
  })
})

describe('stderr of a server', () => {
  it('is a readable stream with stderr: "pipe", available before the server starts [STDIO-006]', async () => {
    const transport = new StdioClientTransport({ ...wireServer, stderr: 'pipe' })
    let heard = ''
    transport.stderr!.on('data', (chunk) => (heard += chunk))
    const client = await open(transport, {})
    await client.callTool('sleep', { ms: 1 })
    await eventually(() => heard.includes('sleep begins'))
    const ended = new Promise((resolve) => transport.stderr!.on('end', resolve))
    await client.close()
    await ended
  })

  it('is a stream that stays open when the server restarts', async () => {
    const transport = new StdioClientTransport({ ...wireServer, stderr: 'pipe' })
    const { stderr } = transport
    let heard = ''
    stderr!.setEncoding('utf8').on('data', (text: string) => (heard += text))
    const client = await open(transport, { restarts: 1 })
    await client.callTool('exit', { code: 3 }).catch(() => {})
    await client.callTool('sleep', { ms: 1 })
    await eventually(() => heard.includes('the last words') && heard.includes('sleep begins'))
    expect(transport.stderr).toBe(stderr)
    await client.close()
  })

  it.each([undefined, 'inherit', 'keep', 'ignore'] as const)('is not a stream with stderr: %j', (stderr) => {
    expect(new StdioClientTransport({ ...wireServer, stderr }).stderr).toBeNull()
  })

  it('can be written to a stream provided by the application', async () => {
    let heard = ''
    const stderr = new Writable({
      write: (chunk, _encoding, done) => {
        heard += chunk
        done()
      },
    })
    const client = await open(new StdioClientTransport({ ...wireServer, stderr }), {})
    await client.callTool('sleep', { ms: 1 })
    await eventually(() => heard.includes('sleep begins'))
    await client.close()
    expect(stderr.writableEnded).toBe(false)
  })

  it('does not block the server or fill memory when the stream is not read', async () => {
    const program = "process.stderr.write('x'.repeat(5_000_000) + 'the end', () => process.exit(1))"
    const transport = new StdioClientTransport({ command: node, args: ['-e', program], stderr: 'pipe' })
    const error = await open(transport, {}).catch((reason) => reason)
    expect(error.detail.stderr).toMatch(/x+the end$/)
    expect(transport.stderr!.readableLength).toBeLessThan(1_200_000)
  })

  it('is included in the error when the server exits before the handshake [STDIO-006]', async () => {
    const program = "console.error('the config file is missing'); process.exit(7)"
    const error = await connect({ command: node, args: ['-e', program] }).catch((reason) => reason)
    expect(error).toBeInstanceOf(ClosedError)
    expect(error).toMatchObject({ code: 'closed', detail: { exitCode: 7, stderr: 'the config file is missing\n' } })
    expect(error.message).toContain('the config file is missing')
    expect(error.message).toContain('exit code 7')
  })

  it('is included in the errors of requests that were lost when the server exited [STDIO-006]', async () => {
    const client = await open(new StdioClientTransport(wireServer), { restarts: 0 })
    const error = await client.callTool('exit', { code: 3 }).catch((reason) => reason)
    expect(error).toMatchObject({ code: 'closed', detail: { exitCode: 3, stderr: 'the last words\n' } })
    expect(error.message).toContain('the last words')
    expect(client.state).toBe('closed')
  })

  everyRevision(
    'can be read as it arrives and is not treated as a failure [STDIO-005, STDIO-006, STDIO-007]',
    async (revision) => {
      let heard = ''
      const transport = new StdioClientTransport({ ...wireServer, stderr: (text) => (heard += text) })
      const client = await open(transport, { revision })
      const errors: unknown[] = []
      client.on('error', ({ error }) => errors.push(error))
      expect((await client.callTool('sleep', { ms: 1 })).text).toBe('slept 1')
      await eventually(() => heard.includes('sleep begins'))
      expect(transport.lastStderr).toContain('sleep begins')
      expect(client.state).toBe('ready')
      expect(errors).toEqual([])
    },
  )

  it('keeps only the end of a long output [STDIO-006]', async () => {
    const program = "process.stderr.write('x'.repeat(5_000_000) + 'the end', () => process.exit(1))"
    const error = await connect({ command: node, args: ['-e', program] }).catch((reason) => reason)
    expect(error.detail.stderr).toMatch(/x+the end$/)
    expect(error.detail.stderr.length).toBeLessThan(100_000)
  })
})
