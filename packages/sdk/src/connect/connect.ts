import { Client } from '../client/client.ts'
import type { ClientOptions } from '../client/options.ts'
import { McpError } from '../errors.ts'
import type { Link } from '../jsonrpc/link.ts'
import type { Transport } from '../jsonrpc/transport.ts'
import type { Implementation } from '../protocol/capabilities.ts'
import type { HttpClientOptions } from '../transport/http/client/config.ts'
import { InMemoryTransport } from '../transport/memory/memory.ts'
import { StdioClientTransport, type StdioServerParameters } from '../transport/stdio/client.ts'
import type { AuthInfo } from '../util/auth-info.ts'
import { isObject } from '../util/objects.ts'
import { connectUrl } from './url.ts'

/** Something that serves peers: a `McpServer` or a `Server`. */
export interface Connectable {
  connect(transport: Transport): Promise<Link>
}

/** The URL of a server, a program to start, a server in this process, or a transport of your own. */
export type Target = string | URL | StdioServerParameters | Connectable | Transport

/** The identity that a server in this process sees as `ctx.auth`, and checks against `requiredScopes`. */
export type TestIdentity = Partial<AuthInfo>

/** Options for a server in this process. */
export interface ConnectServerOptions extends Omit<ConnectOptions, 'auth'> {
  /** Who is calling, in place of a token: `{ subject: 'alice', scopes: ['admin'] }`. Default: an anonymous caller. */
  auth?: TestIdentity | undefined
}

/** The options for HTTP count where the target is a URL. */
export interface ConnectOptions extends ClientOptions, HttpClientOptions {
  /** Who we are. Default: `{ name: 'tenon', version: '0.1.0' }`. */
  info?: Implementation | undefined
}

/**
 * Connects to a server and finds out what it speaks.
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
  const { info = { name: 'tenon', version: '0.1.0' }, auth } = options
  if (typeof target === 'string' || target instanceof URL) return connectUrl(target, info, options as ConnectOptions)
  const client = new Client(info, options)
  await client.connect(await toTransport(target, auth))
  return client
}

async function toTransport(target: Exclude<Target, string | URL>, auth: unknown): Promise<Transport> {
  if (typeof target !== 'object' || target === null) throw badTarget()
  if ('command' in target) return new StdioClientTransport(target)
  if ('start' in target) return target
  if (!('connect' in target)) throw badTarget()
  return connectInMemory(target, auth)
}

/** The client's end of a connection to a server in this process. */
export async function connectInMemory(server: Connectable, auth?: unknown): Promise<Transport> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  if (auth !== undefined) theirs.auth = toIdentity(auth)
  await server.connect(theirs)
  return ours
}

function toIdentity(auth: unknown): AuthInfo {
  const { scopes = [] } = isObject(auth) ? (auth as TestIdentity) : {}
  if (isObject(auth) && !('headers' in auth) && Array.isArray(scopes)) return { ...auth, scopes }
  throw new McpError(
    'invalid-argument',
    "A server in this process takes an identity as auth, not a token: { subject: 'alice', scopes: ['admin'] }",
  )
}

function badTarget(): McpError {
  return new McpError(
    'invalid-argument',
    'connect() takes a URL, a program to start ({ command, args }), a server object, or a transport',
  )
}
