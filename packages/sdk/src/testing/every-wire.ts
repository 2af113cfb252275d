import { PassThrough } from 'node:stream'
import { Client } from '../client/client.ts'
import type { ClientOptions } from '../client/options.ts'
import { type Connectable, connectInMemory } from '../connect/connect.ts'
import type { RpcMessage } from '../jsonrpc/message.ts'
import type { LinkTransport, Transport } from '../jsonrpc/transport.ts'
import type { Revision, RevisionId } from '../protocol/revision.ts'
import { chooseRevisions } from '../protocol/revisions/index.ts'
import { serveHttp } from '../serve/http.ts'
import type { McpServer } from '../server/mcp-server.ts'
import { StreamableHTTPClientTransport } from '../transport/http/client/transport.ts'
import type { HttpOptions } from '../transport/http/server/options.ts'
import { SSEClientTransport } from '../transport/sse/client.ts'
import { createReader, defaultMaxMessageBytes } from '../transport/stdio/reader.ts'
import { StdioServerTransport } from '../transport/stdio/server.ts'
import { LineWriter } from '../transport/stdio/writer.ts'
import { Judge, OfficialSchema } from './official-schemas.ts'
import { record, Transcript } from './transcript.ts'

export type WireTransport = 'memory' | 'stdio' | 'http' | 'http-stateless' | 'sse'

/** A connected client and server, and the transcript of their messages. Closes itself with `await using`. */
export interface Pair {
  readonly client: Client
  readonly transcript: Transcript
  /** Closes both ends. Throws if a message violates the schema of the revision. */
  [Symbol.asyncDispose](): Promise<void>
}

/** One revision over one transport. */
export interface Wire {
  readonly revision: Revision
  readonly transport: WireTransport
  /** For example `2025-06-18, stdio`. */
  readonly name: string
  connect(server: Connectable, options?: ClientOptions): Promise<Pair>
  /** Opens a connection to the server. Returns the transport of the client, for tests that send their own messages. */
  open(server: Connectable): Promise<Transport>
}

export interface WireOptions {
  revisions?: readonly RevisionId[] | undefined
  transports?: readonly WireTransport[] | undefined
  /** Every message is checked against the schemas of `tenon/schemas`, or against the official `<revision>.json` in this folder. `false` checks nothing. */
  schemas?: string | false | undefined
}

/** Returns every combination of a revision and a transport, to run a test on each. */
export function wires(options: WireOptions = {}): Wire[] {
  const transports = options.transports ?? ['memory', 'stdio']
  return chooseRevisions(options.revisions).flatMap((revision) =>
    transports
      // HTTP+SSE has its own kind of sessions, and 2026-07-28 has no sessions.
      .filter((transport) => transport !== 'sse' || !revision.lacks('initialize'))
      .map((transport) => createWire(revision, transport, options.schemas)),
  )
}

/** The part of a test runner that is needed: `it` of vitest, Jest or node:test. */
export interface TestRunner {
  (title: string, body: () => Promise<void>): unknown
  skip(title: string, body?: () => Promise<void>): unknown
}

export interface EveryWireOptions extends WireOptions {
  /** Returns the reason to skip a wire, if there is one. The reason becomes part of the title of the skipped test. */
  skip?: (wire: Wire) => string | undefined
}

/** Runs one test on every wire. */
export function everyWire(
  it: TestRunner,
  title: string,
  body: (wire: Wire) => Promise<void>,
  options: EveryWireOptions = {},
): void {
  for (const wire of wires(options)) {
    const reason = options.skip?.(wire)
    if (reason === undefined) it(`${title} (${wire.name})`, () => body(wire))
    else it.skip(`${title} (${wire.name}; skipped: ${reason})`)
  }
}

function createWire(revision: Revision, transport: WireTransport, schemas: WireOptions['schemas']): Wire {
  const open = openers[transport]
  return {
    revision,
    transport,
    name: `${revision.id}, ${transport}`,
    open,
    connect: async (server, options) => connectPair(await open(server), revision, schemas, options),
  }
}

async function connectPair(
  transport: Transport,
  revision: Revision,
  schemas: WireOptions['schemas'],
  options: ClientOptions | undefined,
): Promise<Pair> {
  const transcript = record(transport, new Transcript())
  const judge = createJudge(schemas, revision.id)
  if (judge) transcript.onLine((line) => judge.hear(line))
  const client = new Client({ name: 'test', version: '1.0.0' }, { revision: revision.id, ...options })
  await client.connect(transport)
  return {
    client,
    transcript,
    async [Symbol.asyncDispose]() {
      await client.close()
      if (judge && judge.problems.length > 0)
        throw new Error(`Messages violate the schema of ${revision.id}:\n${judge.problems.join('\n')}`)
    },
  }
}

function createJudge(schemas: WireOptions['schemas'], revision: RevisionId): Judge | undefined {
  if (schemas === false) return undefined
  const schema = schemas === undefined ? OfficialSchema.load(revision) : OfficialSchema.load(schemas, revision)
  return schema && new Judge(schema)
}

/** Uses the real stdio transport and framing, over pipes inside the process. */
async function openPipes(server: Connectable): Promise<Transport> {
  const toServer = new PassThrough()
  const toClient = new PassThrough()
  await server.connect(new StdioServerTransport({ stdin: toServer, stdout: toClient }))
  return new PipeTransport(toServer, toClient)
}

/** Starts a real server on its own port, which closes with the connection. */
async function openHttp(server: Connectable, options: HttpOptions): Promise<Transport> {
  const http = await serveHttp(server as McpServer, { port: 0, exit: false, graceMs: 1_000, ...options })
  const transport = options.sse
    ? new SSEClientTransport(new URL('/sse', http.url))
    : new StreamableHTTPClientTransport(http.url)
  const close = transport.close.bind(transport)
  transport.close = async () => {
    await close()
    await http.close()
  }
  return transport
}

const openers: Readonly<Record<WireTransport, Wire['open']>> = {
  memory: (server) => connectInMemory(server),
  stdio: openPipes,
  http: (server) => openHttp(server, {}),
  'http-stateless': (server) => openHttp(server, { sessions: false }),
  sse: (server) => openHttp(server, { sse: true }),
}

class PipeTransport implements Transport {
  onmessage?: Transport['onmessage'] | undefined
  onfault?: LinkTransport['onfault'] | undefined
  onclose?: Transport['onclose'] | undefined
  readonly #output: PassThrough
  readonly #input: PassThrough
  readonly #writer: LineWriter

  constructor(output: PassThrough, input: PassThrough) {
    this.#output = output
    this.#input = input
    this.#writer = new LineWriter(output, { maxQueuedBytes: defaultMaxMessageBytes })
  }

  async start(): Promise<void> {
    const reader = createReader(this, defaultMaxMessageBytes)
    this.#input.on('data', (chunk: Uint8Array) => reader.push(chunk))
  }

  send(message: RpcMessage | RpcMessage[]): void {
    this.#writer.write(JSON.stringify(message))
  }

  async close(): Promise<void> {
    await this.#writer.flushed(2_000)
    this.#output.end()
    this.onclose?.()
  }
}
