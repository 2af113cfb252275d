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

/** A client and a server that are connected, and what they said. Closes itself with `await using`. */
export interface Pair {
  readonly client: Client
  readonly transcript: Transcript
  /** Closes both ends; throws when a message was not what the official schema of the revision wants. */
  [Symbol.asyncDispose](): Promise<void>
}

/** One revision over one transport. */
export interface Wire {
  readonly revision: Revision
  readonly transport: WireTransport
  /** Such as `2025-06-18, stdio`. */
  readonly name: string
  connect(server: Connectable, options?: ClientOptions): Promise<Pair>
  /** The two ends of a fresh connection to the server, for tests that speak for themselves. */
  open(server: Connectable): Promise<Transport>
}

export interface WireOptions {
  revisions?: readonly RevisionId[] | undefined
  transports?: readonly WireTransport[] | undefined
  /** A folder with the official `<revision>.json` schemas; every message is checked against them. */
  schemas?: string | undefined
}

/** The worlds a test body should hold in: every revision over every transport. */
export function wires(options: WireOptions = {}): Wire[] {
  const transports = options.transports ?? ['memory', 'stdio']
  return chooseRevisions(options.revisions).flatMap((revision) =>
    transports
      // The old transport has sessions of its own kind, and 2026-07-28 has none.
      .filter((transport) => transport !== 'sse' || !revision.lacks('initialize'))
      .map((transport) => createWire(revision, transport, options.schemas)),
  )
}

/** The part of a test runner that is needed: vitest's, Jest's or node:test's `it`. */
export interface TestRunner {
  (title: string, body: () => Promise<void>): unknown
  skip(title: string, body?: () => Promise<void>): unknown
}

export interface EveryWireOptions extends WireOptions {
  /** Why a wire cannot hold, if so; it becomes part of the skipped test's title. */
  skip?: (wire: Wire) => string | undefined
}

/** One test body, run on every wire. */
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

function createWire(revision: Revision, transport: WireTransport, schemas: string | undefined): Wire {
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
  schemas: string | undefined,
  options: ClientOptions | undefined,
): Promise<Pair> {
  const transcript = record(transport, new Transcript())
  const schema = schemas === undefined ? undefined : OfficialSchema.load(schemas, revision.id)
  const judge = schema && new Judge(schema)
  if (judge) transcript.onLine((line) => judge.hear(line))
  const client = new Client({ name: 'test', version: '1.0.0' }, { revision: revision.id, ...options })
  await client.connect(transport)
  return {
    client,
    transcript,
    async [Symbol.asyncDispose]() {
      await client.close()
      if (judge && judge.problems.length > 0)
        throw new Error(`Not as the schema of ${revision.id} wants:\n${judge.problems.join('\n')}`)
    },
  }
}

/** The real stdio transport and framing, over pipes within the process. */
async function openPipes(server: Connectable): Promise<Transport> {
  const toServer = new PassThrough()
  const toClient = new PassThrough()
  await server.connect(new StdioServerTransport({ stdin: toServer, stdout: toClient }))
  return new PipeTransport(toServer, toClient)
}

/** A real server on a port of its own, which ends with the connection. */
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
