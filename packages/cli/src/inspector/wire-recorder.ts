import type { RevisionId } from 'tenon'
import type { TracedHttpEnd, TracedHttpRequest, TracedHttpResponse, TracedMessage, TraceEvent } from 'tenon/client'
import { redactTraceEvent } from 'tenon/host'
import { isObject } from 'tenon/internal'
import { type AuthFinding, createAuthExplainer } from './auth-findings.ts'
import type { EventLog } from './event-log.ts'
import { MessageOwners } from './message-owners.ts'
import type { HttpExchange, InspectorFact, WireMessage } from './protocol.ts'
import type { ServerFacts } from './server-facts.ts'
import { TaskUpdates } from './task-updates.ts'

/** Options of a `WireRecorder`. */
export interface WireRecorderOptions {
  readonly server: string
  readonly log: EventLog
  readonly facts: ServerFacts
  /** The URL of the server, if it has one. */
  readonly url?: string | undefined
  /** The revision of a connection that was opened to compare revisions. */
  readonly comparedRevision?: RevisionId | undefined
}

/** Logs what happens on the wire of one connection. */
export class WireRecorder {
  readonly #options: WireRecorderOptions
  readonly #owners = new MessageOwners()
  readonly #tasks = new TaskUpdates()
  readonly #requests = new Map<string, HttpExchange>()
  readonly #explain: ((event: TraceEvent) => AuthFinding | undefined) | undefined
  /** The last result of the server for each running operation. */
  readonly #results = new Map<string, unknown>()
  #sessionId: string | undefined

  constructor(options: WireRecorderOptions) {
    this.#options = options
    this.#explain = options.url === undefined ? undefined : createAuthExplainer(new URL(options.url))
  }

  /** The session that the server assigned. */
  get sessionId(): string | undefined {
    return this.#sessionId
  }

  /** Returns the operation of the last request of the server with this method. */
  lastOwner(method: string): string | undefined {
    return this.#owners.lastOwner(method)
  }

  /** Remembers the last result of an operation, until `takeResult`. */
  keepResult(operation: string): void {
    this.#results.set(operation, undefined)
  }

  /** Returns the last result that the server sent for an operation, as it was on the wire, and forgets it. */
  takeResult(operation: string): unknown {
    const result = this.#results.get(operation)
    this.#results.delete(operation)
    return result
  }

  /** The `trace` of a connection. */
  readonly trace = (event: TraceEvent): void => {
    switch (event.type) {
      case 'message':
        return this.#message(event)
      case 'fault':
        return this.#add({ kind: 'notice', server: this.#options.server, level: 'error', text: shorten(event.problem) })
      case 'stderr':
        return this.#stderr(event.text)
      case 'http-request':
        return this.#request(event)
      case 'http-response':
        return this.#response(event)
      case 'http-end':
        return this.#end(event)
    }
  }

  #message({ direction, message, http }: TracedMessage): void {
    const { server, log, comparedRevision } = this.#options
    const operation = this.#owners.ownerOf(direction, message, http)
    const isExpected = isRequest(message) ? direction === 'sent' : this.#owners.takePending(message)
    const toFact = (): WireMessage => ({
      kind: 'message',
      server,
      direction,
      message,
      bytes: Buffer.byteLength(JSON.stringify(message) ?? ''),
      ...(http !== undefined && { http }),
      ...(operation !== undefined && { operation }),
      ...(comparedRevision && { comparedRevision }),
    })
    // A server can send any number of notifications, but only one response to each request.
    if (isExpected) log.append(toFact())
    else this.#add(toFact)
    if (direction === 'sent') return
    if (operation !== undefined && this.#results.has(operation) && isObject(message) && isObject(message.result))
      this.#results.set(operation, message.result)
    for (const { task, operation: creator } of this.#tasks.find(message, (id) => this.#owners.taskOwner(id)))
      this.#add({ kind: 'task', server, task, ...(creator !== undefined && { operation: creator }) })
  }

  #stderr(text: string): void {
    this.#add({ kind: 'stderr', server: this.#options.server, text: shorten(text) })
  }

  #request(event: TracedHttpRequest): void {
    const { server } = this.#options
    const { http, method, url, headers, purpose } = redactTraceEvent(event)
    const isAuth = purpose === 'auth' ? { isAuth: true } : {}
    const fact: HttpExchange = { kind: 'http', server, http, method, url, requestHeaders: headers, ...isAuth }
    this.#requests.set(http, fact)
    this.#add(fact)
    this.#find(event)
  }

  #response(event: TracedHttpResponse): void {
    const { http, status, headers, durationMs } = redactTraceEvent(event)
    const request = this.#requests.get(http)
    this.#sessionId = event.headers['mcp-session-id'] ?? this.#sessionId
    if (request) this.#add({ ...request, status, responseHeaders: headers, durationMs })
    this.#find(event)
  }

  #end(event: TracedHttpEnd): void {
    const { http, error, durationMs, outcome } = redactTraceEvent(event)
    const request = this.#requests.get(http)
    this.#requests.delete(http)
    if (request && outcome === 'failed') this.#add({ ...request, durationMs, error: error ?? 'failed' })
    this.#find(event)
  }

  /** What the exchange says about the authorization of the server. */
  #find(event: TraceEvent): void {
    const finding = this.#explain?.(event)
    if (finding) this.#add({ kind: 'auth', server: this.#options.server, ...finding })
  }

  #add(fact: InspectorFact | (() => InspectorFact)): void {
    this.#options.facts.add(fact)
  }
}

/** The longest text of a server in events other than messages. */
const maxTextChars = 64 * 1024

function shorten(text: string): string {
  return text.length <= maxTextChars ? text : `${text.slice(0, maxTextChars)}…`
}

function isRequest(message: unknown): boolean {
  return isObject(message) && message.method !== undefined && message.id !== undefined
}
