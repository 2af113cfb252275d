import { metaKeys, type RevisionId, type ServerCapabilities } from 'tenon'
import { Client, type ClientOptions, type StateChange, type Transport } from 'tenon/client'
import { McpServer, type McpServerOptions } from 'tenon/server'
import { InMemoryTransport, type ScriptedAnswer, ScriptedServer, type Transcript } from 'tenon/testing'
import * as z from 'zod'

export const modern: RevisionId = '2026-07-28'
export const handshakes: readonly RevisionId[] = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']
export const everyRevision: readonly RevisionId[] = [...handshakes, modern]

/** A message as it was on the wire, whatever kind it is. */
export interface Said {
  id?: string | number | null
  method?: string
  params?: Record<string, unknown> & { _meta?: Record<string, unknown> }
  result?: Record<string, unknown> & { _meta?: Record<string, unknown> }
  error?: { code: number; message: string; data?: Record<string, unknown> }
}

export type Side = 'client' | 'server'

/** All that one side said, or what it said of one method. */
export function said(transcript: Transcript, side: Side, method?: string): Said[] {
  const all = transcript.from(side) as Said[]
  return method === undefined ? all : all.filter((message) => message.method === method)
}

export function methodsOf(transcript: Transcript, side: Side): string[] {
  return said(transcript, side).flatMap(({ method }) => method ?? [])
}

/** The first message of this method, now or later. */
export function heard(transcript: Transcript, side: Side, method: string, nth = 1): Promise<Said> {
  return new Promise((resolve) => {
    const look = () => {
      const found = said(transcript, side, method)[nth - 1]
      if (found) resolve(found)
    }
    look()
    transcript.onLine(look)
  })
}

export async function errorOf<E = Error & { code: string }>(promise: PromiseLike<unknown>): Promise<E> {
  try {
    await promise
  } catch (error) {
    return error as E
  }
  throw new Error('It was expected to fail, but it succeeded')
}

export interface Gate<T = void> {
  promise: Promise<T>
  open(value: T): void
}

export function gate<T = void>(): Gate<T> {
  let open!: (value: T) => void
  const promise = new Promise<T>((resolve) => {
    open = resolve
  })
  return { promise, open }
}

/** A server with a tool that says who calls, one that echoes and one that waits for `release` or cancellation. */
export function testServer(options: McpServerOptions = {}) {
  const server = new McpServer({ name: 'test-server', version: '3.2.1' }, options)
  const started = gate()
  const release = gate()
  const seen: { signal?: AbortSignal } = {}
  server.registerTool('echo', { inputSchema: { text: z.string() } }, ({ text }) => text)
  server.registerTool('who', {}, (_, { caller }) =>
    JSON.stringify({ revision: caller.revision, client: caller.clientInfo, capabilities: caller.capabilities }),
  )
  server.registerTool('wait', {}, async (_, ctx) => {
    seen.signal = ctx.signal
    started.open()
    await Promise.race([release.promise, new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))])
    return 'waited'
  })
  return { server, started: started.promise, release: () => release.open(), seen }
}

export async function connected(server: McpServer, options: ClientOptions = {}): Promise<Client> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await server.connect(theirs)
  const client = new Client({ name: 'test', version: '1.0.0' }, options)
  await client.connect(ours)
  return client
}

type Answers = Record<string, (params: Record<string, unknown>, request: { id: string | number }) => ScriptedAnswer>

export const everything: ServerCapabilities = {
  logging: {},
  completions: {},
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
}

export function discovery(supportedVersions: readonly string[], capabilities: ServerCapabilities = everything) {
  return {
    resultType: 'complete',
    supportedVersions,
    capabilities,
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { [metaKeys.serverInfo]: { name: 'scripted', version: '1' } },
  }
}

export function initialized(protocolVersion: string, capabilities: ServerCapabilities = everything) {
  return { protocolVersion, capabilities, serverInfo: { name: 'scripted', version: '1' } }
}

/** A scripted server of one revision: it greets as that revision does, the rest is yours. */
export function scripted(revision: RevisionId, answers: Answers = {}, capabilities = everything): ScriptedServer {
  const greeting: Answers =
    revision === modern
      ? { 'server/discover': () => ({ result: discovery([modern], capabilities) }) }
      : { initialize: () => ({ result: initialized(revision, capabilities) }), ping: () => ({ result: {} }) }
  return new ScriptedServer({ ...greeting, ...answers })
}

export async function scriptedClient(server: ScriptedServer, options: ClientOptions = {}): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' }, options)
  await client.connect(server.transport)
  return client
}

/** A result in the form of the revision. */
export function shaped(revision: RevisionId, result: Record<string, unknown>): { result: Record<string, unknown> } {
  return { result: revision === modern ? { resultType: 'complete', ...result } : result }
}

/** Over which a connection can be made again: each start asks for a new one, as a child process would be started. */
export class RestartableTransport implements Transport {
  onmessage?: Transport['onmessage']
  onclose?: Transport['onclose']
  readonly restartable = true
  readonly peerKey: string | undefined
  starts = 0
  #inner: Transport | undefined
  readonly #make: (start: number) => Transport | Promise<Transport>

  constructor(make: (start: number) => Transport | Promise<Transport>, peerKey?: string) {
    this.#make = make
    this.peerKey = peerKey
  }

  async start(): Promise<void> {
    this.starts++
    const inner = await this.#make(this.starts)
    this.#inner = inner
    inner.onmessage = (message) => this.onmessage?.(message)
    inner.onclose = (detail) => {
      if (this.#inner === inner) this.#inner = undefined
      this.onclose?.(detail)
    }
    await inner.start()
  }

  send(message: Parameters<Transport['send']>[0]): void {
    const inner = this.#inner
    if (!inner) throw new Error('not started')
    if (inner.sendText) inner.sendText(JSON.stringify(message))
    else void inner.send(message)
  }

  async close(): Promise<void> {
    await this.#inner?.close()
  }
}

export async function inMemory(server: McpServer): Promise<Transport> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await server.connect(theirs)
  return ours
}

/** Every change of state, in order, and a way to wait for one. */
export function watchStates(client: Client) {
  const changes: StateChange[] = []
  const waiting = new Set<() => void>()
  client.on('state', (change) => {
    changes.push(change)
    for (const look of waiting) look()
  })
  const reached = (state: StateChange['state'], nth = 1): Promise<StateChange> =>
    new Promise((resolve) => {
      const look = () => {
        const found = changes.filter((change) => change.state === state)[nth - 1]
        if (found) resolve(found)
      }
      waiting.add(look)
      look()
    })
  return { changes, reached }
}

/** Every non-empty choice from a list. */
export function subsets<T>(items: readonly T[]): T[][] {
  const sets: T[][] = [[]]
  for (const item of items) for (const set of [...sets]) sets.push([...set, item])
  return sets.slice(1)
}
