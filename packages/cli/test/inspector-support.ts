import { mkdtempSync, rmSync } from 'node:fs'
import { type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInspector, type Inspector, type InspectorOptions } from '../src/inspector/inspector.ts'
import { listen, type ServedInspector } from '../src/inspector/listen.ts'
import type {
  ConnectRequest,
  InspectorEvent,
  OperationEnded,
  OperationRequest,
  WireMessage,
} from '../src/inspector/protocol.ts'
import { fixture } from './support.ts'

/** A response that was read to its end. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look at any member
  readonly json: any
}

export interface SendOptions {
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string
}

/** Sends a request without changing anything about it, as `fetch` would. */
export async function send(url: string, method = 'GET', { headers = {}, body }: SendOptions = {}): Promise<Answer> {
  const response = await open(url, method, { headers, ...(body !== undefined && { body }) })
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text,
    get json() {
      return JSON.parse(text)
    },
  }
}

/** Sends a request, and returns when the head of the response arrived. */
export function open(url: string, method: string, { headers = {}, body }: SendOptions): Promise<IncomingMessage> {
  const { hostname, port } = new URL(url)
  // Not normalized, so that a path such as "/../x" arrives as it is.
  const path = url.slice(url.indexOf('/', 'http://'.length))
  return new Promise((resolve, reject) => {
    request({ hostname, port, path, method, headers }, resolve).once('error', reject).end(body)
  })
}

type Kind = InspectorEvent['kind']
type EventOf<K extends Kind> = Extract<InspectorEvent, { kind: K }>

/** An inspector on a free port, and a page that reads its events. */
export class InspectorPage {
  readonly inspector: Inspector
  readonly #served: ServedInspector
  readonly origin: string
  readonly secret: string
  readonly events: InspectorEvent[] = []
  readonly #watchers = new Set<() => void>()
  #stream: IncomingMessage | undefined

  private constructor(inspector: Inspector, served: ServedInspector) {
    this.inspector = inspector
    this.#served = served
    const { origin, hash } = new URL(served.url)
    this.origin = origin
    this.secret = hash.slice('#secret='.length)
  }

  static async open(options: InspectorOptions = {}): Promise<InspectorPage> {
    const inspector = createInspector(options)
    const page = new InspectorPage(inspector, await listen(inspector, 0))
    page.#stream = await page.stream(0, (event) => page.#add(event))
    return page
  }

  get headers(): Record<string, string> {
    return { authorization: `Bearer ${this.secret}` }
  }

  /** Reads the log after an event. Destroy what it returns to stop. */
  async stream(after: number, onEvent: (event: InspectorEvent) => void): Promise<IncomingMessage> {
    const stream = await open(`${this.origin}/api/events?after=${after}`, 'GET', { headers: this.headers })
    let rest = ''
    stream.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) if (line !== '') onEvent(JSON.parse(line))
    })
    stream.on('error', () => {})
    return stream
  }

  api(method: string, path: string, body?: unknown): Promise<Answer> {
    const json = body === undefined ? {} : { body: JSON.stringify(body) }
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    return send(`${this.origin}/api/${path}`, method, { headers: { ...this.headers, ...type }, ...json })
  }

  /** Connects, and returns the id of the server when its state is `ready`, or another one. */
  async connect(request: ConnectRequest, state = 'ready'): Promise<string> {
    const { json } = await this.api('POST', 'servers', request)
    await this.until('server-state', (event) => event.server === json.server && event.state === state)
    return json.server
  }

  /** Connects to the fixture `inspected.js`. */
  connectFixture(options: Omit<ConnectRequest, 'target'> = {}): Promise<string> {
    return this.connect({ target: `${process.execPath} ${fixture('inspected.js')}`, ...options })
  }

  async start(server: string, request: OperationRequest): Promise<string> {
    const { json } = await this.api('POST', `servers/${server}/operations`, request)
    return json.operation
  }

  async run(server: string, request: OperationRequest): Promise<OperationEnded> {
    return this.ended(await this.start(server, request))
  }

  ended(operation: string): Promise<EventOf<'operation-ended'>> {
    return this.until('operation-ended', (event) => event.operation === operation)
  }

  /** Waits for an event. */
  until<K extends Kind>(kind: K, isWanted: (event: EventOf<K>) => boolean = () => true): Promise<EventOf<K>> {
    return new Promise((resolve) => {
      const look = () => {
        const found = this.all(kind).find(isWanted)
        if (!found) return
        this.#watchers.delete(look)
        resolve(found)
      }
      this.#watchers.add(look)
      look()
    })
  }

  all<K extends Kind>(kind: K): EventOf<K>[] {
    return this.events.filter((event): event is EventOf<K> => event.kind === kind)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stream?.destroy()
    await this.#served.close()
    await this.inspector.close()
  }

  #add(event: InspectorEvent): void {
    this.events.push(event)
    for (const look of [...this.#watchers]) look()
  }
}

/** A folder that is removed at the end. */
export class TempFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'tenon-inspector-'));

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}

/** A call of a tool. */
export function callOf(name: string, args: Record<string, unknown> = {}): OperationRequest {
  return { method: 'tools/call', params: { name, arguments: args } }
}

/** The messages of an operation: direction, and method or kind of response. */
export function messagesOf(events: readonly InspectorEvent[], operation: string): string[] {
  return events
    .filter((event): event is InspectorEvent & WireMessage => event.kind === 'message' && event.operation === operation)
    .map(({ direction, message }) => {
      const { method, result } = message as { method?: string; result?: { resultType?: string } }
      return `${direction} ${method ?? result?.resultType ?? 'result'}`
    })
}
