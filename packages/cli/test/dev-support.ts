import { renameSync, writeFileSync } from 'node:fs'
import type { RevisionId } from 'tenon'
import { type Client, type ConnectOptions, connect } from 'tenon/client'
import type { NodeProcess } from '../../sdk/test/kit/child-process.ts'
import { program, Workspace } from './support.ts'

/** The built library, for servers in temporary folders. */
export const library = new URL('../../sdk/dist/lib/server.js', import.meta.url).href

/** The source of a server whose tools answer with its version. */
export function source(version: string, more = ''): string {
  return `
import { setTimeout as sleep } from 'node:timers/promises'
import { McpServer, serveStdio } from '${library}'
const server = new McpServer({ name: 'edited', version: '1.0.0' })
const version = '${version}'
const readOnly = { annotations: { readOnlyHint: true } }
server.registerTool('version', { description: version }, () => version)
server.registerTool('pid', {}, () => String(process.pid))
server.registerTool('write', {}, async (_args, ctx) => {
  await ctx.progress(1)
  await sleep(version === 'one' ? 600_000 : 0, undefined, { signal: ctx.signal })
  return version
})
server.registerTool('read', readOnly, async (_args, ctx) => {
  await ctx.progress(1)
  await sleep(version === 'one' ? 600_000 : 0, undefined, { signal: ctx.signal })
  return version
})
server.registerTool('ask', {}, async (_args, ctx) => {
  const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
  const answer = await ctx.elicit(version + '?', schema)
  return version + ' ' + answer.content?.name
})
server.registerTool('log', {}, (_args, ctx) => {
  ctx.log.debug('debug of ' + version)
  return version
})
server.registerTool('crash', {}, () => {
  console.error('About to crash')
  process.exit(7)
})
server.registerPrompt('hello', {}, () => version)
server.registerResource('state', 'state://now', {}, () => version)
server.registerTool('touch', {}, () => {
  server.server.sendResourceUpdated('state://now')
  return version
})
${more}
await serveStdio(server)
`
}

/** A server in a folder of its own, and the clients that use it through `tenon dev`. */
export class EditedServer {
  readonly work = new Workspace()
  readonly path: string
  readonly #clients: DevClient[] = []

  constructor(content: string, name = 'server.mjs') {
    this.path = this.work.write(name, content)
  }

  /** Saves the file as it is, as some editors do. */
  save(content: string): void {
    writeFileSync(this.path, content)
  }

  /** Saves the file by writing another one and renaming it, as other editors do. */
  replace(content: string): void {
    const copy = this.work.write('.server.mjs.swp', content)
    renameSync(copy, this.path)
  }

  /** Starts `tenon dev` over stdio. */
  async connect(options: ConnectOptions = {}, args: readonly string[] = [this.path]): Promise<DevClient> {
    let stderr = ''
    const { path: cwd, env } = this.work
    const server = { command: process.execPath, args: [program, 'dev', ...args], cwd, env }
    const keep = (text: string) => {
      stderr += text
    }
    const client = await connect({ ...server, stderr: keep }, options)
    return this.#add(new DevClient(client, () => stderr))
  }

  /** Connects to `tenon dev --http`. */
  async connectUrl(url: string, options: ConnectOptions = {}): Promise<DevClient> {
    return this.#add(new DevClient(await connect(url, options), () => ''))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map(({ client }) => client.close()))
    this.work[Symbol.dispose]()
  }

  #add(client: DevClient): DevClient {
    this.#clients.push(client)
    return client
  }
}

/** A client that notices when its session breaks. */
export class DevClient {
  readonly client: Client
  readonly #stderr: () => string
  /** States that the client had after it was connected. Empty if its session never broke. */
  readonly breaks: string[] = []
  /** How often the server said that its tools changed. */
  changes = 0

  constructor(client: Client, stderr: () => string) {
    this.client = client
    this.#stderr = stderr
    client.on('state', ({ state }) => {
      if (state !== 'closed') this.breaks.push(state)
    })
    client.on('sessionRenewed', () => void this.breaks.push('renewed'))
    client.on('toolsChanged', () => void this.changes++)
  }

  /** What `tenon dev` printed on stderr. */
  get stderr(): string {
    return this.#stderr()
  }

  /** The text of a tool's result. */
  async call(name: string): Promise<string> {
    return (await this.client.callTool(name)).text
  }

  /** The description of the first tool, which is the version of the server. */
  async listed(): Promise<string | undefined> {
    const { tools } = await this.client.listTools()
    return tools.find(({ name }) => name === 'version')?.description
  }

  /** The process id of the server, which changes with a restart. */
  async pid(): Promise<number> {
    return Number(await this.call('pid'))
  }

  /** Resolves when the server has said that its tools changed. */
  changed(): Promise<void> {
    return new Promise((resolve) => {
      const off = this.client.on('toolsChanged', () => {
        off()
        resolve()
      })
    })
  }
}

/** Every revision, oldest first. */
export const allRevisions: readonly RevisionId[] = [
  '2024-11-05',
  '2025-03-26',
  '2025-06-18',
  '2025-11-25',
  '2026-07-28',
]

/** A client that sends and receives plain JSON, to see ids and the order of messages. */
export class WireClient {
  readonly #process: NodeProcess

  constructor(process: NodeProcess) {
    this.#process = process
  }

  /** Everything that was received. */
  get received(): WireMessage[] {
    const lines = this.#process.stdout.split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line))
  }

  send(message: object | object[]): void {
    const whole = Array.isArray(message)
      ? message.map((member) => ({ jsonrpc: '2.0', ...member }))
      : { jsonrpc: '2.0', ...message }
    this.#process.write(`${JSON.stringify(whole)}\n`)
  }

  /** Waits for the first message that fits. */
  until(fits: (message: WireMessage) => boolean): Promise<WireMessage> {
    return this.#process.until(() => this.received.find(fits))
  }

  /** Opens a session. */
  async initialize(protocolVersion: string, capabilities: object = {}): Promise<void> {
    const clientInfo = { name: 'wire', version: '1.0.0' }
    this.send({ id: 'init', method: 'initialize', params: { protocolVersion, capabilities, clientInfo } })
    await this.until(({ id }) => id === 'init')
    this.send({ method: 'notifications/initialized' })
  }
}

export interface WireMessage {
  readonly id?: string | number
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: { readonly content: readonly { readonly text: string }[] }
  readonly error?: { readonly message: string }
}
