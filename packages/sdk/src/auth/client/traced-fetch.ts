import type { Tracer } from '../../protocol/trace.ts'
import { clock } from '../../util/clock.ts'
import type { AuthFetch } from './context.ts'

/** Returns a `fetch` that reports its requests and responses with their bodies. */
export function tracedFetch(fetch: AuthFetch, tracer: Tracer): AuthFetch {
  return async (url, init) => {
    const common = { http: tracer.nextHttp(), purpose: 'auth' } as const
    const method = init.method ?? 'GET'
    const startedAt = clock.monotonic()
    const headers = Object.fromEntries(new Headers(init.headers))
    tracer.emit({ type: 'http-request', ...common, method, url, headers, ...bodyOf(init) })
    try {
      const response = await fetch(url, init)
      const { status } = response
      const body = await response.clone().text()
      const durationMs = clock.monotonic() - startedAt
      const seen = { status, headers: Object.fromEntries(response.headers), durationMs, body }
      tracer.emit({ type: 'http-response', ...common, method, url: response.url || url, ...seen })
      tracer.emit({ type: 'http-end', ...common, outcome: 'complete', durationMs })
      return response
    } catch (cause) {
      const error = cause instanceof Error ? cause.message : String(cause)
      const durationMs = clock.monotonic() - startedAt
      tracer.emit({ type: 'http-end', ...common, outcome: 'failed', error, durationMs })
      throw cause
    }
  }
}

/** OAuth sends forms and JSON. */
function bodyOf({ body }: RequestInit): { body?: string } {
  if (typeof body === 'string') return { body }
  return body instanceof URLSearchParams ? { body: body.toString() } : {}
}
