import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { metaKeys, type RevisionId } from 'tenon'
import { Client, type ClientOptions, connect, type Transport } from 'tenon/client'
import type { McpServer, Server } from 'tenon/server'
import {
  Judge,
  ScriptedClient,
  type ScriptedServer,
  type ScriptOptions,
  type Transcript,
  type Wire,
} from 'tenon/testing'
import { expect, onTestFinished } from 'vitest'
import { type Exit, NodeProcess } from '../../kit/child-process.ts'
import type { Message } from '../../kit/message.ts'
import { officialSchema } from '../../kit/official-schemas.ts'
import { type Answers, scripted } from '../../kit/scripted-server.ts'

export const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url))
export const node = process.execPath

/** A scripted client on a transport. On close, the messages of the server are checked against the official schema. */
export async function script(wire: Wire, server: McpServer | Server, options: ScriptOptions = {}) {
  const revision = wire.revision.id
  const client = await ScriptedClient.connect(await wire.open(server), { revision, ...options })
  const schema = officialSchema(revision)
  const judge = schema && new Judge(schema)
  client.transcript.onLine((line) => {
    // A script may send anything; the checker only needs the methods of its requests.
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

/** Returns the params of a request, with the `_meta` that 2026-07-28 requires. */
export function paramsOf(revision: RevisionId, params: Record<string, unknown> = {}): Record<string, unknown> {
  if (revision !== '2026-07-28') return params
  const meta = { [metaKeys.protocolVersion]: revision, [metaKeys.clientCapabilities]: {} }
  return { ...params, _meta: { ...meta, ...(params._meta as object) } }
}

/** A server process that receives raw bytes. */
export class RawProcess {
  readonly lines: string[] = []
  readonly messages: Message[] = []
  readonly #process: NodeProcess
  readonly #revision: RevisionId
  #held: string[] = []
  #nextId = 1_000

  constructor(program: string[], revision: RevisionId, env: Record<string, string> = {}) {
    this.#revision = revision
    this.#process = new NodeProcess(program, { env: { PATH: process.env.PATH, ...env } })
    this.child.stdout?.prependListener('data', (text: string) => this.#heard(text))
  }

  get child(): ChildProcess {
    return this.#process.child
  }

  get exited(): Promise<Exit> {
    return this.#process.exited
  }

  get stderr(): string {
    return this.#process.stderr
  }

  /** Starts a fixture and, on handshake revisions, performs the handshake. */
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
    this.#process.write(bytes)
  }

  say(message: unknown): void {
    this.write(`${JSON.stringify(message)}\n`)
  }

  /** Sends a valid request and resolves with the response. */
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

  /** Checks that the server still works: the next valid request is answered. */
  async stillWorks(): Promise<void> {
    expect((await this.call('echo', { still: 'here' })).result?.content?.[0]?.text).toBe('{"still":"here"}')
  }

  /** Waits until `look` finds something in the output of the process. */
  until<T>(look: () => T | undefined | false): Promise<T> {
    return this.#process.until(look)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#process[Symbol.asyncDispose]()
  }

  #heard(text: string): void {
    const parts = text.split('\n')
    this.#held.push(parts.shift()!)
    if (parts.length === 0) return
    const lines = [this.#held.join(''), ...parts]
    this.#held = [lines.pop()!]
    this.lines.push(...lines)
    this.messages.push(...lines.map((line) => JSON.parse(line)))
  }
}

/** A log file for a child process, in a temporary folder that is deleted. */
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

/** A scripted server with tools. */
export function scriptedServer(revision: RevisionId, answers: Answers = {}, capabilities: object = { tools: {} }) {
  return scripted(revision, answers, capabilities)
}

/** Connects a client to a scripted server. */
export async function clientOf(server: ScriptedServer, revision: RevisionId, options: ClientOptions = {}) {
  const client = new Client({ name: 'test', version: '1' }, { revision, ...options })
  await client.connect(server.transport)
  return client
}

/** Returns the responses of a client, without its own requests and notifications. */
export function answersIn(transcript: Transcript): Message[] {
  return (transcript.from('client') as Message[]).filter(({ method }) => method === undefined)
}

/** Command of `fixtures/server.js`, for a client to start. */
export const wireServer = { command: node, args: [fixture('server.js')] }

/** Command of `fixtures/stubborn.js` with the given behaviours. */
export const stubborn = (notes: Notes, ...habits: string[]) => ({
  command: node,
  args: [fixture('stubborn.js'), notes.file, ...habits],
  shutdownMs: 150,
})

/** A log file that is deleted after the test. */
export function takeNotes(): Notes {
  const notes = new Notes()
  onTestFinished(() => notes[Symbol.dispose]())
  return notes
}

/** A client that is closed after the test. */
export async function open(transport: Transport, options: ClientOptions = {}): Promise<Client> {
  const client = await connect(transport, options)
  onTestFinished(() => client.close())
  return client
}
