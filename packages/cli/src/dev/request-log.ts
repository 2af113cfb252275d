import type { RpcMessage, RpcRequest } from 'tenon'
import { isObject, safeLine } from 'tenon/internal'
import { columnsOf, fit, padEnd } from '../columns.ts'
import type { Output } from '../output.ts'
import { isResponse, subjectOf } from './messages.ts'

/** Prints one line per request on stderr: time, method, name, duration and outcome. */
export class RequestLog {
  readonly #output: Output

  constructor(output: Output) {
    this.#output = output
  }

  /** A request of the client has its response. */
  answered(request: RpcRequest, since: number, response: RpcMessage): void {
    this.#line('→', request, since, outcomeOf(response))
  }

  /** The client cancelled a request. */
  cancelled(request: RpcRequest, since: number): void {
    this.#line('→', request, since, { text: 'cancelled', isProblem: false })
  }

  /** A request of the server to the client has its response. */
  asked(request: RpcRequest, since: number, response: RpcMessage): void {
    this.#line('←', request, since, outcomeOf(response))
  }

  /** Something else happened, such as a restart. */
  note(text: string): void {
    this.#output.note(this.#output.notePaint.faint(fit(safeLine(`${timeNow()} ${text}`), this.#output.width)))
  }

  /** Something went wrong. */
  warn(text: string): void {
    this.#output.note(this.#output.notePaint.warning(fit(safeLine(`${timeNow()} ${text}`), this.#output.width)))
  }

  #line(arrow: string, request: RpcRequest, since: number, { text, isProblem }: Outcome): void {
    const { width, notePaint } = this.#output
    const name = [request.method, subjectOf(request)].filter(Boolean).join(' ')
    const left = padEnd(fit(safeLine(name), nameColumns), nameColumns)
    const start = `${timeNow()} ${arrow} ${left} ${durationSince(since).padStart(8)}  `
    const line = start + fit(safeLine(text), Math.max(12, width - columnsOf(start)))
    this.#output.note(isProblem ? notePaint.warning(line) : line)
  }
}

const nameColumns = 32

interface Outcome {
  readonly text: string
  readonly isProblem: boolean
}

function outcomeOf(response: RpcMessage): Outcome {
  if (!isResponse(response)) return { text: '', isProblem: false }
  const { error, result } = response
  if (error) return { text: `${error.code} ${error.message}`, isProblem: true }
  if (result?.isError === true) return { text: `error: ${firstText(result.content)}`, isProblem: true }
  if (typeof result?.action === 'string') return { text: result.action, isProblem: false }
  return { text: result?.resultType === 'input_required' ? 'asks' : 'ok', isProblem: false }
}

function firstText(content: unknown): string {
  const block: unknown = Array.isArray(content) ? content[0] : undefined
  return isObject(block) && typeof block.text === 'string' ? block.text : ''
}

function durationSince(since: number): string {
  const ms = performance.now() - since
  return ms < 10_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`
}

function timeNow(): string {
  return new Date().toTimeString().slice(0, 8)
}
