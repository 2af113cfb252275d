import { createServer, connect as dial, type Socket } from 'node:net'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { RevisionId } from 'tenon'
import { Client, type Transport } from 'tenon/client'
import { StdioServerTransport } from 'tenon/server'
import { Judge, record } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import { server } from '../../../../../examples/demo/server.ts'
import type { Message } from '../../kit/message.ts'
import { officialSchema } from '../../kit/official-schemas.ts'
import { everyRevision, handshakeRevisions } from '../../kit/revisions.ts'
import { Notes } from './support.ts'

type Sent = Parameters<Transport['send']>[0]

/** A minimal custom transport, here over a pair of message ports that carry objects. */
class PortTransport implements Transport {
  onmessage?: Transport['onmessage']
  onclose?: Transport['onclose']
  readonly #port: MessagePort

  constructor(port: MessagePort) {
    this.#port = port
  }

  async start(): Promise<void> {
    this.#port.on('message', (message) => this.onmessage?.(message))
    this.#port.once('close', () => this.onclose?.())
  }

  async send(message: Sent): Promise<void> {
    this.#port.postMessage(message)
  }

  async close(): Promise<void> {
    this.#port.close()
  }
}

/** A client transport on a socket: one message per line, as on stdio. */
class SocketTransport implements Transport {
  onmessage?: Transport['onmessage']
  onclose?: Transport['onclose']
  readonly #socket: Socket
  #held = ''

  constructor(socket: Socket) {
    this.#socket = socket
  }

  async start(): Promise<void> {
    this.#socket.setEncoding('utf8').on('data', (text: unknown) => {
      const lines = (this.#held + text).split('\n')
      this.#held = lines.pop()!
      for (const line of lines) this.onmessage?.(JSON.parse(line))
    })
    this.#socket.once('close', () => this.onclose?.())
  }

  send(message: Sent): void {
    this.#socket.write(`${JSON.stringify(message)}\n`)
  }

  async close(): Promise<void> {
    this.#socket.end()
    await new Promise((resolve) => this.#socket.once('close', resolve))
  }
}

/** Runs a complete exchange, checked against the official schema. */
async function converse(transport: Transport, revision: RevisionId): Promise<Message[]> {
  const transcript = record(transport)
  const schema = officialSchema(revision)
  const judge = schema && new Judge(schema)
  if (judge) transcript.onLine((line) => judge.hear(line))
  const client = new Client({ name: 'custom', version: '1' }, { revision })
  await client.connect(transport)
  expect(client.revision).toBe(revision)
  expect((await client.listTools().all()).map(({ name }) => name)).toEqual([
    'echo',
    'add',
    'sleep',
    'write_note',
    'search_notes',
    'plan_day',
    'proofread',
  ])
  expect((await client.callTool('echo', { text: 'é\n€' })).text).toBe('é\n€')
  const steps: number[] = []
  await client.callTool('sleep', { ms: 5 }, { onProgress: ({ progress }) => steps.push(progress) })
  expect(steps).toEqual([1, 2, 3, 4, 5])
  const stop = new AbortController()
  const slow = client.callTool('sleep', { ms: 60_000 }, { signal: stop.signal }).catch((reason) => reason)
  stop.abort()
  expect(await slow).toMatchObject({ code: 'cancelled' })
  await expect(client.request('no/such')).rejects.toMatchObject({ code: 'peer', rpcCode: -32601 })
  await client.ping()
  await client.close()
  expect(client.state).toBe('closed')
  expect(judge?.problems ?? []).toEqual([])
  expect(transcript.from('server').length).toBeGreaterThan(5)
  for (const message of [...transcript.from('client'), ...transcript.from('server')])
    expect(message.jsonrpc).toBe('2.0')
  return transcript.from('client') as Message[]
}

async function overPorts(revision: RevisionId): Promise<Message[]> {
  const { port1, port2 } = new MessageChannel()
  await server.connect(new PortTransport(port2))
  return converse(new PortTransport(port1), revision)
}

describe('a custom transport with three methods', () => {
  everyRevision(
    'preserves the messages and the session lifecycle [TRAN-001, TRAN-002]',
    async (revision) => {
      const said = await overPorts(revision)
      expect(said.slice(0, 2).map(({ method }) => method)).toEqual(['initialize', 'notifications/initialized'])
    },
    handshakeRevisions,
  )

  it('preserves the messages, the message patterns and the metadata of each request [TRAN-001, TRAN-003]', async () => {
    const requests = (await overPorts('2026-07-28')).filter(({ id }) => id !== undefined)
    expect(requests.map(({ method }) => method)).toContain('tools/call')
    for (const { params } of requests) {
      expect(params?._meta).toHaveProperty(['io.modelcontextprotocol/protocolVersion'], '2026-07-28')
      expect(params?._meta).toHaveProperty(['io.modelcontextprotocol/clientCapabilities'])
    }
  })

  it('acts for the user of the given credentials, else for the local user', () => {
    const auth = { token: 't', clientId: 'c', subject: 'ann', issuer: 'https://a.example', scopes: [] }
    const known = new StdioServerTransport({ auth })
    expect([known.principal, known.isLocalUser]).toEqual([expect.stringContaining('ann'), false])
    const local = new StdioServerTransport()
    expect([local.principal, local.isLocalUser]).toEqual([undefined, true])
  })

  it('writes what is sent while it closes', async () => {
    const stdout = new PassThrough()
    const transport = new StdioServerTransport({ stdin: new PassThrough(), stdout })
    await transport.start()
    const closed = transport.close()
    transport.send({ jsonrpc: '2.0', id: 1, result: {} })
    await closed
    expect(String(stdout.read())).toBe('{"jsonrpc":"2.0","id":1,"result":{}}\n')
  })

  it('leaves stdout alone if it was closed before it was used', async () => {
    const stdout = new PassThrough()
    const transport = new StdioServerTransport({ stdin: new PassThrough(), stdout })
    await transport.close()
    transport.send({ jsonrpc: '2.0', id: 1, result: {} })
    expect(stdout.read()).toBeNull()
    expect(stdout.listenerCount('error')).toBe(0)
  })

  it('rejects a request whose message cannot be delivered', async () => {
    const { port1, port2 } = new MessageChannel()
    await server.connect(new PortTransport(port2))
    const transport = new PortTransport(port1)
    const client = new Client({ name: 'custom', version: '1' }, { revision: '2025-11-25' })
    await client.connect(transport)
    const { send } = transport
    transport.send = () => Promise.reject(new Error('the cable is cut'))
    await expect(client.ping()).rejects.toThrow('the cable is cut')
    transport.send = send
    await client.ping()
    await client.close()
  })
})

describe('a reliable byte stream', () => {
  for (const kind of ['a Unix socket', 'TCP'])
    everyRevision(`carries the stdio framing unchanged: ${kind} [TRAN-001, TRAN-005, STDIO-003]`, async (revision) => {
      using notes = new Notes()
      const door = createServer(
        (socket) => void server.connect(new StdioServerTransport({ stdin: socket, stdout: socket })),
      )
      const address =
        kind === 'TCP' ? { port: 0, host: '127.0.0.1' } : { path: join(notes.file.replace(/notes$/, 's')) }
      await new Promise<void>((resolve) => door.listen(address, resolve))
      const bound = door.address()
      const where = typeof bound === 'string' ? { path: bound } : { port: bound!.port, host: '127.0.0.1' }
      const sockets = [dial(where), dial(where)]
      // Two clients at the same time, each with its own session and the same ids.
      await Promise.all(sockets.map((socket) => converse(new SocketTransport(socket), revision)))
      await new Promise((resolve) => door.close(resolve))
    })
})
