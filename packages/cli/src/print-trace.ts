import type { TracedHttpRequest, TracedHttpResponse, TracedMessage, TraceEvent, TraceListener } from 'tenon/client'
import { redactTraceEvent } from 'tenon/host'
import { safeJson, safeLine, safeText } from 'tenon/internal'
import { wrap } from './columns.ts'
import type { Output } from './output.ts'

/** Returns a listener that prints the wire on stderr: one line per message, with details below. Secrets are redacted. */
export function tracePrinter(output: Output): TraceListener {
  const view = new TraceView(output)
  return (event) => {
    const lines = view.linesOf(redactTraceEvent(event))
    if (lines.length > 0) output.note(...lines)
  }
}

const maxDetailChars = 4_000

/** Headers that are the same for every request. */
const plainHeaders: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'cache-control',
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'transfer-encoding',
  'vary',
])

/** Remembers requests, so that responses can name the method and the time. */
class TraceView {
  readonly #output: Output
  readonly #requests = new Map<string, { readonly method: string; readonly at: number }>()
  #startedAt: number | undefined

  constructor(output: Output) {
    this.#output = output
  }

  linesOf(event: TraceEvent): string[] {
    this.#startedAt ??= event.at
    switch (event.type) {
      case 'message':
        return this.#messages(event)
      case 'fault':
        return [this.#heading(event.at, '! not a message'), ...this.#details(event.problem)]
      case 'http-request':
        return this.#request(event)
      case 'http-response':
        return this.#response(event)
      case 'http-end':
        return event.outcome === 'failed' ? [this.#heading(event.at, `! HTTP failed: ${event.error ?? ''}`)] : []
      case 'stderr':
        return event.text.split(/\r?\n/).flatMap((line) => (line === '' ? [] : this.#faint(`  stderr: ${line}`)))
    }
  }

  #messages(event: TracedMessage): string[] {
    const messages = Array.isArray(event.message) ? event.message : [event.message]
    return messages.flatMap((message) => this.#message(event, message as Message))
  }

  #message({ at, direction }: TracedMessage, message: Message): string[] {
    const arrow = direction === 'sent' ? '→' : '←'
    const { id, method, params, result, error } = message
    if (method !== undefined) {
      // Both sides count their requests, so the direction belongs to the id.
      if (id !== undefined) this.#requests.set(`${direction} ${String(id)}`, { method, at })
      const number = id === undefined ? '' : `  #${String(id)}`
      return [this.#heading(at, `${arrow} ${method}${number}`), ...this.#json(params)]
    }
    const key = `${direction === 'sent' ? 'received' : 'sent'} ${String(id)}`
    const request = this.#requests.get(key)
    this.#requests.delete(key)
    const took = request ? `  ${request.method}  ${(at - request.at).toFixed(1)} ms` : ''
    const what = error === undefined ? 'result' : 'error'
    return [this.#heading(at, `${arrow} ${what}  #${String(id)}${took}`), ...this.#json(error ?? result)]
  }

  #request({ method, url, headers, body, purpose }: TracedHttpRequest): string[] {
    const own = purpose === 'auth' ? 'OAuth  ' : ''
    return [...this.#faint(`  ${own}${method} ${url}`), ...this.#headers(headers), ...this.#body(body)]
  }

  #response({ method, status, durationMs, headers, body }: TracedHttpResponse): string[] {
    const line = `  HTTP ${status} to ${method} after ${durationMs.toFixed(1)} ms`
    return [...this.#faint(line), ...this.#headers(headers), ...this.#body(body)]
  }

  #headers(headers: Readonly<Record<string, string>>): string[] {
    return Object.entries(headers)
      .filter(([name]) => !plainHeaders.has(name))
      .flatMap(([name, value]) => this.#faint(`    ${name}: ${value}`))
  }

  #body(body: string | undefined): string[] {
    return body === undefined || body === '' ? [] : this.#details(body)
  }

  #heading(at: number, text: string): string {
    const { notePaint } = this.#output
    const seconds = ((at - (this.#startedAt ?? at)) / 1_000).toFixed(3)
    return `${notePaint.faint(`${seconds.padStart(7)} `)}${notePaint.strong(safeLine(text, 1_000))}`
  }

  #json(value: unknown): string[] {
    if (value === undefined) return []
    return this.#details(safeJson(value).replace(/\n\s*/g, ' '))
  }

  #details(text: string): string[] {
    return wrap(safeText(text, maxDetailChars), this.#output.width - 4).map((line) =>
      this.#output.notePaint.faint(`    ${line}`),
    )
  }

  #faint(text: string): string[] {
    const indent = /^ */.exec(text)?.[0] ?? ''
    return wrap(safeText(text.trimStart(), maxDetailChars), this.#output.width - indent.length).map((line) =>
      this.#output.notePaint.faint(indent + line),
    )
  }
}

interface Message {
  readonly id?: unknown
  readonly method?: string
  readonly params?: unknown
  readonly result?: unknown
  readonly error?: unknown
}
