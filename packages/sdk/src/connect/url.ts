import { Client } from '../client/client.ts'
import type { ClientOptions } from '../client/options.ts'
import { ErrorCode, HttpError, McpError, PeerError } from '../errors.ts'
import type { Transport } from '../jsonrpc/transport.ts'
import type { Implementation } from '../protocol/capabilities.ts'
import { forgetServer, knownServer, rememberServer } from '../protocol/known-servers.ts'
import { chooseRevisions } from '../protocol/revisions/index.ts'
import { type HttpClientOptions, parseUrl } from '../transport/http/client/config.ts'
import { hintForStatus } from '../transport/http/client/hints.ts'
import { StreamableHTTPClientTransport } from '../transport/http/client/transport.ts'
import { SSEClientTransport } from '../transport/sse/client.ts'

type Options = ClientOptions & HttpClientOptions & { signal?: AbortSignal | undefined }

/** Statuses about authorization, rate limits and sizes, which say nothing about the transport. */
const unrelatedStatuses: ReadonlySet<number> = new Set([401, 403, 407, 413, 429])

/** Errors of stateless servers for `initialize`. Such servers do not have the HTTP+SSE transport. */
const statelessErrors: ReadonlySet<number> = new Set([
  ErrorCode.MethodNotFound,
  ErrorCode.HeaderMismatch,
  ErrorCode.MissingClientCapability,
  ErrorCode.UnsupportedProtocolVersion,
])

/**
 * Connects over Streamable HTTP, or over the HTTP+SSE transport of 2024-11-05 if the server accepts neither `server/discover`
 * nor `initialize` (2026-07-28 streamable-http, backward compatibility).
 */
export async function connectUrl(target: string | URL, info: Implementation, options: Options): Promise<Client> {
  const url = readTarget(target)
  const key = url.origin + url.pathname
  if (knownServer(key)?.transport === 'sse') {
    try {
      return await connectSse(url, info, options)
    } catch {
      // The server may have changed: negotiate again.
      forgetServer(key)
    }
  }
  const transport = new StreamableHTTPClientTransport(url, options)
  const client = new Client(info, options)
  try {
    await openClient(client, transport, options.signal)
    return client
  } catch (error) {
    if (options.signal?.aborted || !mayHaveSse(error, transport, options)) throw error
    const found = await connectSse(url, info, options).catch((last) =>
      Promise.reject(allFailed(url, transport, error, last)),
    )
    rememberServer(key, { era: 'handshake', transport: 'sse' })
    return found
  }
}

/** Connects a client, unless the signal aborts first. */
export async function openClient(client: Client, transport: Transport, signal: AbortSignal | undefined): Promise<void> {
  const stop = () => void client.close()
  signal?.throwIfAborted()
  signal?.addEventListener('abort', stop)
  try {
    await client.connect(transport)
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}

async function connectSse(url: URL, info: Implementation, options: Options): Promise<Client> {
  const client = new Client(info, options)
  await openClient(client, new SSEClientTransport(url, options), options.signal)
  return client
}

function mayHaveSse(error: unknown, transport: StreamableHTTPClientTransport, options: Options): boolean {
  const offered = chooseRevisions(options.revision ? [options.revision] : options.revisions)
  if (offered.every((revision) => revision.lacks('initialize'))) return false
  const isStateless = error instanceof PeerError && statelessErrors.has(error.rpcCode)
  if (isStateless || !(error instanceof PeerError || error instanceof HttpError)) return false
  // A server that has only HTTP+SSE answers a POST with 400, 404 or 405 (2025-11-25 transports, backwards
  // compatibility), or any 4xx (2025-06-18).
  const status = transport.openingStatuses.get('initialize') ?? 0
  return status >= 400 && status < 500 && !unrelatedStatuses.has(status)
}

function allFailed(url: URL, transport: StreamableHTTPClientTransport, first: unknown, last: unknown): HttpError {
  const tried = [...transport.openingStatuses].map(([method, status]) => `${method} by POST: HTTP ${status}`)
  const status = last instanceof HttpError && last.status !== undefined ? `HTTP ${last.status}` : messageOf(last)
  const all = [...tried, `an event stream by GET: ${status}`].join('; ')
  const said = first instanceof PeerError ? `. The server said: ${first.message.slice(0, 200)}` : ''
  const body = first instanceof HttpError ? first.body : undefined
  const hint = hintForStatus(transport.openingStatuses.get('initialize'), body, url)
  return new HttpError(
    `${url.origin}${url.pathname} is not an MCP server that this client supports. Tried ${all}${said}${hint}`,
    {
      outcome: 'refused',
      status: transport.openingStatuses.get('initialize'),
      body,
      cause: new AggregateError([first, last]),
    },
  )
}

function readTarget(target: string | URL): URL {
  try {
    return parseUrl(target)
  } catch (cause) {
    const isBare = typeof target === 'string' && !target.includes('://')
    const isAddress = isBare && /^[\w.-]+:\d+(?:\/|$)/.test(target)
    const hint = isAddress
      ? `. Did you mean http://${target}?`
      : isBare
        ? '. To start a program, pass { command, args }'
        : ''
    throw new McpError('invalid-argument', messageOf(cause) + hint, { cause })
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
