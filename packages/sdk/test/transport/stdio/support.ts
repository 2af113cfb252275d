import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { metaKeys, type RevisionId, revisionIds } from 'tenon'
import { Client, type ClientOptions, connect, type Transport } from 'tenon/client'
import type { McpServer, Server } from 'tenon/server'
import {
  Judge,
  OfficialSchema,
  ScriptedClient,
  ScriptedServer,
  type ScriptOptions,
  type Transcript,
  type Wire,
} from 'tenon/testing'
import { expect, it, onTestFinished } from 'vitest'
import { schemas } from '../../kit/official-schemas.ts'

export const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url))
export const node = process.execPath
export const handshakeRevisions = revisionIds.filter((id) => id !== '2026-07-28')

export interface Message {
  jsonrpc?: unknown
  id?: unknown
  method?: string
  params?: Record<string, unknown>
  result?: Record<string, unknown> & { content?: { text: string }[] }
  error?: { code: number; message: string; data?: unknown }
}

/** One test body, once for each revision. */
export function everyRevision(
  title: string,
  body: (revision: RevisionId) => Promise<void>,
  which: readonly RevisionId[] = revisionIds,
): void {
  for (const revision of which) it(`${title} (${revision})`, () => body(revision))
}

/** A scripted client on a wire; what the server says is checked against the official schema when it is closed. */
export async function script(wire: Wire, server: McpServer | Server, options: ScriptOptions = {}) {
  const revision = wire.revision.id
  const client = await ScriptedClient.connect(await wire.open(server), { revision, ...options })
  const schema = schemas === undefined ? undefined : OfficialSchema.load(schemas, revision)
  const judge = schema && new Judge(schema)
  client.transcript.onLine((line) => {
    // What a script says may be anything; the judge needs of it only the methods of its requests.
    const isReadable = [line.message].flat().every((message) => typeof message === 'object' && message !== null)
    if (isReadable) judge?.hear(line)
  })
  await client.open()
  const close = client.close.bind(client)
  client.close = async () => {
    await close()
    expect(judge?.problems.filter((problem) => problem.startsWith('server'))).toEqual(judge && [])
  }
  return client
}

/** The params of a request, with what 2026-07-28 wants in every one. */
export function paramsOf(revision: RevisionId, params: Record<string, unknown> = {}): Record<string, unknown> {
  if (revision !== '2026-07-28') return params
  const meta = { [metaKeys.protocolVersion]: revision, [metaKeys.clientCapabilities]: {} }
  return { ...params, _meta: { ...meta, ...(params._meta as object) } }
}

/** A real server process, spoken to in bytes. */
export class RawProcess {
  readonly child: ChildProcess
  readonly lines: string[] = []
  readonly messages: Message[] = []
  readonly exited: Promise<{ code: number | null; signal: string | null }>
  stderr = ''
  readonly #revision: RevisionId
  readonly #watchers = new Set<() => void>()
  #held: string[] = []
  #nextId = 1_000

  constructor(program: string[], revision: RevisionId, env: Record<string, string> = {}) {
    this.#revision = revision
    this.child = spawn(node, program, { stdio: 'pipe', env: { PATH: process.env.PATH!, ...env } })
    this.exited = new Promise((resolve) => this.child.once('close', (code, signal) => resolve({ code, signal })))
    this.child.stdin!.on('error', () => {})
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
      this.#look()
    })
    this.child.stdout!.setEncoding('utf8').on('data', (text: string) => this.#heard(text))
  }

  /** Starts a fixture and, where the revision has that, shakes hands. */
  static async start(revision: RevisionId, options: object = {}, env: Record<string, string> = {}) {
    const server = new RawProcess([fixture('server.js')], revision, { OPTIONS: JSON.stringify(options), ...env })
    if (revision === '2026-07-28') return server
    await server.ask('initialize', {
      protocolVersion: revision,
      capabilities: {},
      clientInfo: { name: 'raw', version: '1' },
    })
    server.say({ jsonrpc: '2.0', method: 'notifications/initialized' })
    return server
  }

  write(bytes: string | Uint8Array): void {
    this.child.stdin!.write(bytes)
  }

  say(message: unknown): void {
    this.write(`${JSON.stringify(message)}\n`)
  }

  /** A good request; resolves with its answer. */
  ask(method: string, params: Record<string, unknown> = {}): Promise<Message> {
    const id = this.#nextId++
    this.say({ jsonrpc: '2.0', id, method, params: paramsOf(this.#revision, params) })
    return this.answerTo(id)
  }

  call(name: string, args: Record<string, unknown> = {}): Promise<Message> {
    return this.ask('tools/call', { name, arguments: args })
  }

  request(id: unknown, method: string, params: Record<string, unknown> = {}): string {
    return JSON.stringify({ jsonrpc: '2.0', id, method, params: paramsOf(this.#revision, params) })
  }

  answerTo(id: unknown): Promise<Message> {
    return this.until(() => this.messages.find((message) => message.id === id && message.method === undefined))
  }

  /** Proves that the server still works: the next good message is answered. */
  async stillWorks(): Promise<void> {
    expect((await this.call('echo', { still: 'here' })).result?.content?.[0]?.text).toBe('{"still":"here"}')
  }

  /** Waits for something that stdout or stderr will bring. */
  until<T>(look: () => T | undefined | false): Promise<T> {
    return new Promise((resolve) => {
      const watcher = () => {
        const found = look()
        if (found === undefined || found === false) return
        this.#watchers.delete(watcher)
        resolve(found)
      }
      this.#watchers.add(watcher)
      watcher()
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.stdin!.end()
    this.child.kill('SIGKILL')
    await this.exited
  }

  #heard(text: string): void {
    const parts = text.split('\n')
    this.#held.push(parts.shift()!)
    if (parts.length === 0) return
    const lines = [this.#held.join(''), ...parts]
    this.#held = [lines.pop()!]
    this.lines.push(...lines)
    this.messages.push(...lines.map((line) => JSON.parse(line)))
    this.#look()
  }

  #look(): void {
    for (const watcher of [...this.#watchers]) watcher()
  }
}

/** A file for notes of a child process, in a folder that goes away. */
export class Notes {
  readonly #folder = mkdtempSync(join(tmpdir(), 'tenon-wire-'))
  readonly file = join(this.#folder, 'notes')

  get lines(): string[] {
    try {
      return readFileSync(this.file, 'utf8').split('\n').filter(Boolean)
    } catch {
      return []
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** Whether a process is there. One that ended but was not waited for yet (a zombie) is not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return process.platform !== 'linux'
  }
}

/** Looks until it is so, or fails. Processes end without telling us, so there is no event to wait for. */
export async function eventually(isSo: () => boolean, withinMs = 30_000): Promise<void> {
  for (const end = Date.now() + withinMs; !isSo(); await sleep(5)) {
    if (Date.now() > end) throw new Error(`Timed out waiting for ${isSo}`)
  }
}

type Answers = ConstructorParameters<typeof ScriptedServer>[0]

/** A scripted server that greets as the revision wants; everything else is in the hands of the test. */
export function scriptedServer(revision: RevisionId, answers: Answers = {}, capabilities: object = { tools: {} }) {
  const info = { name: 'scripted', version: '1' }
  return new ScriptedServer({
    ping: () => ({ result: {} }),
    initialize: () => ({ result: { protocolVersion: revision, capabilities, serverInfo: info } }),
    'server/discover': () => ({
      result: {
        resultType: 'complete',
        supportedVersions: [revision],
        capabilities,
        ttlMs: 0,
        cacheScope: 'private',
        _meta: { [metaKeys.serverInfo]: info },
      },
    }),
    ...answers,
  })
}

/** A client that is connected to a scripted server, and a round-trip to wait with for all that was said before. */
export async function clientOf(server: ScriptedServer, revision: RevisionId, options: ClientOptions = {}) {
  const client = new Client({ name: 'test', version: '1' }, { revision, ...options })
  await client.connect(server.transport)
  return client
}

/** What a client answered, without the requests and notifications of its own. */
export function answersIn(transcript: Transcript): Message[] {
  return (transcript.from('client') as Message[]).filter(({ method }) => method === undefined)
}

/** The program of `fixtures/server.js`, for a client to start. */
export const wireServer = { command: node, args: [fixture('server.js')] }

/** The program of `fixtures/stubborn.js` with some of its habits. */
export const stubborn = (notes: Notes, ...habits: string[]) => ({
  command: node,
  args: [fixture('stubborn.js'), notes.file, ...habits],
  shutdownMs: 150,
})

/** Notes that go away with the test. */
export function takeNotes(): Notes {
  const notes = new Notes()
  onTestFinished(() => notes[Symbol.dispose]())
  return notes
}

/** A client that is closed with the test. */
export async function open(transport: Transport, options: ClientOptions = {}): Promise<Client> {
  const client = await connect(transport, options)
  onTestFinished(() => client.close())
  return client
}
