import { createRequire } from 'node:module'
import type { RevisionId } from 'tenon'
import type { ClientAuthFactory } from 'tenon/auth/client'
import {
  type Client,
  type ClientHandlers,
  type ConnectOptions,
  connect,
  type Root,
  SSEClientTransport,
  type TraceListener,
} from 'tenon/client'
import type { Target } from '../target.ts'
import { inOperation } from './operation-context.ts'

/** How to open a connection. */
export interface OpenOptions {
  readonly target: Target
  readonly revision?: RevisionId | undefined
  /** Uses HTTP+SSE without trying Streamable HTTP first. */
  readonly transport?: 'sse' | undefined
  /** Headers for a URL, in addition to those of the target. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly timeoutMs?: number | undefined
  readonly roots: readonly Root[]
  readonly handlers: ClientHandlers
  readonly auth: ClientAuthFactory
  readonly trace: TraceListener
  readonly signal: AbortSignal
}

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string }

/** A person may look at a slow call for a while. */
const defaultTimeoutMs = 300_000

/** Connects to a target, and reports everything that happens on the wire. */
export function openConnection(options: OpenOptions): Promise<Client> {
  // The connection outlives the operation that may have opened it.
  return inOperation(undefined, () => open(options))
}

function open({ target, transport, headers, auth, ...rest }: OpenOptions): Promise<Client> {
  const { config } = target
  const options = clientOptions(rest)
  if ('server' in config) throw new TypeError('A target is never a server in this process.')
  if ('command' in config) {
    const { command, args, env, cwd } = config
    return connect({ command, args, cwd, ...(env && { env: { ...env } }) }, options)
  }
  const http = { ...options, headers: { ...config.headers, ...headers }, reconnect, auth: config.auth ?? auth }
  return transport === 'sse' ? connect(new SSEClientTransport(config.url, http), options) : connect(config.url, http)
}

/** A person waits for the answer, so a server that cannot be reached is reported soon. */
const reconnect = { maxRetries: 1 }

function clientOptions({
  revision,
  timeoutMs,
  roots,
  handlers,
  trace,
  signal,
}: Omit<OpenOptions, 'target' | 'transport' | 'headers' | 'auth'>): ConnectOptions {
  return {
    info: { name: 'tenon-inspector', version },
    ...(revision && { revision }),
    ...(timeoutMs !== undefined && { connectTimeoutMs: timeoutMs }),
    request: { timeoutMs: timeoutMs ?? defaultTimeoutMs },
    handlers: { ...handlers, roots },
    capabilities: { sampling: { tools: {} } },
    // The user wants to see every request.
    cache: false,
    trace,
    signal,
  }
}
