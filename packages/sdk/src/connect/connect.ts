import { Client } from '../client/client.ts'
import type { ClientOptions } from '../client/options.ts'
import { McpError } from '../errors.ts'
import type { Link } from '../jsonrpc/link.ts'
import type { Transport } from '../jsonrpc/transport.ts'
import type { AuthInfo } from '../protocol/auth-info.ts'
import type { Implementation } from '../protocol/capabilities.ts'
import type { HttpClientOptions } from '../transport/http/client/config.ts'
import { InMemoryTransport } from '../transport/memory/memory.ts'
import { StdioClientTransport, type StdioServerParameters } from '../transport/stdio/client.ts'
import { isObject } from '../util/objects.ts'
import { checkOptions } from '../util/unknown-options.ts'
import { version } from '../util/version.ts'
import { connectUrl, openClient } from './url.ts'

/** A server in this process: an `McpServer` or a `Server`. */
export interface Connectable {
  connect(transport: Transport): Promise<Link>
}

/** What to connect to: the URL of a server, a command to start, a server in this process, or a transport. */
export type Target = string | URL | StdioServerParameters | Connectable | Transport

/** The identity that a server in this process sees as `ctx.auth` and checks against `requiredScopes`. */
export type TestIdentity = Partial<AuthInfo>

/** Options of `connect` for a server in this process. */
export interface ConnectServerOptions extends Omit<ConnectOptions, 'auth'> {
  /** The identity of the caller instead of a token: `{ subject: 'alice', scopes: ['admin'] }`. Default: anonymous. */
  auth?: TestIdentity | undefined
}

/** Options of `connect`. The options for HTTP apply if the target is a URL. */
export interface ConnectOptions extends ClientOptions, HttpClientOptions {
  /** The name and version of your program. Default: those of this package. */
  info?: Implementation | undefined
  /** Stops connecting. It has no effect on a connection that is open. */
  signal?: AbortSignal | undefined
}

/**
 * Connects to a server and negotiates the protocol revision.
 *
 * @example
 * await using client = await connect('https://example.com/mcp', { headers: { 'x-key': key } })
 * const sum = await client.callTool('add', { a: 1, b: 2 })
 *
 * @example
 * await using client = await connect({ command: 'node', args: ['server.js'] })
 *
 * @example
 * await using client = await connect(server, { auth: { subject: 'alice', scopes: ['admin'] } })
 */
export async function connect(target: Connectable, options?: ConnectServerOptions): Promise<Client>
export async function connect(target: Target, options?: ConnectOptions): Promise<Client>
export async function connect(target: Target, options: ConnectOptions | ConnectServerOptions = {}): Promise<Client> {
  const { info = { name: 'tenon', version }, auth } = options
  checkOptions<ConnectOptions>('connect', options, knownOptions)
  if (typeof target === 'string' || target instanceof URL) return connectUrl(target, info, options as ConnectOptions)
  const client = new Client(info, options)
  await openClient(client, await toTransport(target, auth), options.signal)
  return client
}

async function toTransport(target: Exclude<Target, string | URL>, auth: unknown): Promise<Transport> {
  if (typeof target !== 'object' || target === null) throw badTarget()
  if ('command' in target) return new StdioClientTransport(target)
  if ('start' in target) return target
  if (!('connect' in target)) throw badTarget()
  return connectInMemory(target, auth)
}

/** Returns the client transport of a connection to a server in this process. */
export async function connectInMemory(server: Connectable, auth?: unknown): Promise<Transport> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  if (auth !== undefined) theirs.auth = toIdentity(auth)
  await server.connect(theirs)
  return ours
}

function toIdentity(auth: unknown): AuthInfo {
  const { scopes = [] } = isObject(auth) ? auth : {}
  if (isObject(auth) && !('headers' in auth) && Array.isArray(scopes)) return { ...auth, scopes }
  throw new McpError(
    'invalid-argument',
    "Invalid auth: for a server in this process pass an identity, not a token, for example { subject: 'alice', scopes: ['admin'] }",
  )
}

function badTarget(): McpError {
  return new McpError(
    'invalid-argument',
    'Invalid target: connect() takes a URL, a command to start ({ command, args }), a server object, or a transport',
  )
}

const knownOptions = {
  handlers: 1,
  capabilities: 1,
  revision: 1,
  revisions: 1,
  negotiation: 1,
  request: 1,
  probeTimeoutMs: 1,
  connectTimeoutMs: 1,
  cache: 1,
  trusted: 1,
  ping: 1,
  restarts: 1,
  recover: 1,
  raw: 1,
  compileJsonSchema: 1,
  maxRounds: 1,
  logLevel: 1,
  tasks: 1,
  taskIds: 1,
  trace: 1,
  info: 1,
  signal: 1,
  auth: 1,
  headers: 1,
  fetch: 1,
  requestInit: 1,
  reconnect: 1,
  reconnectionOptions: 1,
  reconnectionScheduler: 1,
  standardHeaders: 1,
  maxMessageBytes: 1,
  maxRedirects: 1,
} as const
