import { isObject, isSecretName } from 'tenon/internal'
import type { Call } from './call.ts'
import { quote } from './shell.ts'

/** Headers that curl sets, or that belong to one connection. */
const omitted = new Set(['host', 'connection', 'content-length', 'accept-encoding', 'user-agent', 'transfer-encoding'])

/** A `curl` command; undefined for servers that are not reached over HTTP. Secrets are shell variables. */
export function toCurl(call: Call): string | undefined {
  if (call.server.transport !== 'http' && call.server.transport !== 'sse') return undefined
  const url = call.sent?.exchange.url ?? call.server.address
  const headers = Object.entries(headersOf(call)).map(([name, value]) => `-H ${quoteHeader(name, value)}`)
  const body = { jsonrpc: '2.0', id: 1, method: call.method, params: paramsOf(call) }
  return [`curl -N ${quote(url)}`, ...headers, `--data-raw ${quote(JSON.stringify(body))}`].join(' \\\n  ')
}

function headersOf({ sent, method, params, revision, server }: Call): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(sent?.exchange.requestHeaders ?? {})) {
    if (!omitted.has(name.toLowerCase())) headers[name.toLowerCase()] = value
  }
  headers['content-type'] = 'application/json'
  headers.accept ??= 'application/json, text/event-stream'
  const version = revision ?? server.revision
  if (version !== undefined) headers['mcp-protocol-version'] ??= version
  const subject = params.name ?? params.uri
  if ('mcp-method' in headers) headers['mcp-method'] = method
  if ('mcp-method' in headers && typeof subject === 'string') headers['mcp-name'] = subject
  return headers
}

/** On 2026-07-28 each request says in `_meta` who sends it, so the pattern's `_meta` goes along. */
function paramsOf({ sent, params }: Call): unknown {
  const before = isObject(sent?.message) && isObject(sent.message.params) ? sent.message.params._meta : undefined
  if (!isObject(before)) return params
  const { progressToken: _token, ...meta } = before
  return Object.keys(meta).length === 0 ? params : { ...params, _meta: meta }
}

function quoteHeader(name: string, value: string): string {
  if (!isSecretName(name) && !value.includes('[redacted]')) return quote(`${name}: ${value}`)
  const variable = name.toUpperCase().replace(/\W/g, '_')
  return name === 'authorization' ? '"authorization: Bearer $TOKEN"' : `"${name}: $${variable}"`
}
