import { Client, type ClientOptions } from '../client/client.ts'
import { McpError } from '../errors.ts'
import type { Link } from '../jsonrpc/link.ts'
import type { Transport } from '../jsonrpc/transport.ts'
import type { Implementation } from '../protocol/types.ts'
import type { HttpClientOptions } from '../transport/http/client-destination.ts'
import { InMemoryTransport } from '../transport/memory/memory.ts'
import { StdioClientTransport, type StdioServerParameters } from '../transport/stdio/client.ts'
import { connectUrl } from './connect-url.ts'

/** Something that serves peers: a `McpServer` or a `Server`. */
export interface Connectable {
  connect(transport: Transport): Promise<Link>
}

/** The URL of a server, a program to start, a server in this process, or a transport of your own. */
export type Target = string | URL | StdioServerParameters | Connectable | Transport

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
 */
export async function connect(target: Target, options: ConnectOptions = {}): Promise<Client> {
  const { info = { name: 'tenon', version: '0.1.0' } } = options
  if (typeof target === 'string' || target instanceof URL) return connectUrl(target, info, options)
  const client = new Client(info, options)
  await client.connect(await toTransport(target))
  return client
}

async function toTransport(target: Exclude<Target, string | URL>): Promise<Transport> {
  if (typeof target !== 'object' || target === null) throw badTarget()
  if ('command' in target) return new StdioClientTransport(target)
  if ('start' in target) return target
  if (!('connect' in target)) throw badTarget()
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await target.connect(theirs)
  return ours
}

function badTarget(): McpError {
  return new McpError(
    'invalid-argument',
    'connect() takes a URL, a program to start ({ command, args }), a server object, or a transport',
  )
}
