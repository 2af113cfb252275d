import { guardedFetch } from 'tenon/auth/client'
import { isLoopbackHost } from 'tenon/internal'
import type { StepRequest } from './steps.ts'

/** What came back of a request. */
export interface Probed {
  readonly request: StepRequest
  readonly headers: Headers
  readonly body: string
  /** Why there was no response. */
  readonly error?: string | undefined
}

/** Sends the requests of an explanation. */
export class Probe {
  readonly #server: URL
  readonly #timeoutMs: number
  readonly #guarded: ReturnType<typeof guardedFetch>

  constructor(server: URL, timeoutMs: number) {
    this.#server = server
    this.#timeoutMs = timeoutMs
    // Only a server on this machine may name an authorization server on this machine.
    this.#guarded = guardedFetch({ timeoutMs, allowLoopback: isLoopbackHost(server.hostname) ? 'http' : false })
  }

  /** Asks the MCP server itself, whose URL the user gave. */
  postInitialize(headers: Readonly<Record<string, string>>): Promise<Probed> {
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'tenon', version: '1' } },
    })
    const own = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const signal = AbortSignal.timeout(this.#timeoutMs)
    const init: RequestInit = { method: 'POST', headers: { ...own, ...headers }, body, redirect: 'manual', signal }
    return probe(this.#server, init, (url, options) => fetch(url, options))
  }

  /** Fetches a document whose URL a server chose. */
  get(url: URL): Promise<Probed> {
    return probe(url, { method: 'GET', headers: { accept: 'application/json' } }, this.#guarded)
  }
}

async function probe(url: URL, init: RequestInit, send: (url: URL, init: RequestInit) => Promise<Response>) {
  const startedAt = performance.now()
  const request = { method: init.method ?? 'GET', url: url.href }
  const elapsed = () => Math.round(performance.now() - startedAt)
  try {
    const response = await send(url, init)
    const { status, headers } = response
    const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true
    const body = isStream ? '' : (await response.text()).slice(0, maxBody)
    if (isStream) await response.body?.cancel()
    return { request: { ...request, status, durationMs: elapsed() }, headers, body }
  } catch (error) {
    return {
      request: { ...request, status: null, durationMs: elapsed() },
      headers: new Headers(),
      body: '',
      error: describe(error),
    }
  }
}

const maxBody = 1_000_000

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message
}

/** Parses a JSON object; undefined if it is something else. */
export function readObject(body: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

/** Describes a response in a few words. */
export function describeResponse({ request, headers, error }: Probed): string {
  if (request.status === null) return `No response: ${error ?? 'unknown reason'}`
  const type = headers.get('content-type')
  return `HTTP ${request.status}${type ? `, ${type}` : ''}`
}
