import type { IncomingMessage } from 'node:http'
import type { AuthInfo } from '../../../protocol/auth-info.ts'
import type { CallRequest } from './call.ts'

/** A request of `node:http`, with the properties that frameworks add to it. */
export interface NodeRequest extends IncomingMessage {
  /** The body as a body parser in front of us parsed it. */
  body?: unknown
  /** The bytes that the parser read, if it kept them. */
  rawBody?: unknown
  auth?: unknown
  /** The whole path. Express keeps it here when a handler is mounted under a part of it. */
  originalUrl?: string
}

/** The headers, URL and caller of a `node:http` request. */
export class NodeRequestFacts implements CallRequest {
  readonly #incoming: NodeRequest
  readonly #headers: IncomingMessage['headers']
  #peer: string | undefined
  principal: string | undefined

  constructor(incoming: NodeRequest) {
    this.#incoming = incoming
    this.#headers = incoming.headers
  }

  get url(): string {
    const { originalUrl, url = '/', socket } = this.#incoming
    const path = originalUrl ?? url
    if (!path.startsWith('/')) return path
    return `${'encrypted' in socket ? 'https' : 'http'}://${this.#headers.host ?? 'localhost'}${path}`
  }

  header(name: string): string | undefined {
    const value = this.#headers[name]
    if (value === undefined) return this.#inLowerCase(name)
    if (keptOnce.has(name) && isRepeated(this.#incoming.rawHeaders, name)) return repeated
    return typeof value === 'string' ? value : value.join(', ')
  }

  #inLowerCase(name: string): string | undefined {
    const lower = name.toLowerCase()
    return lower === name ? undefined : this.header(lower)
  }

  get headers(): Readonly<Record<string, string>> {
    const entries = Object.entries(this.#headers)
    return Object.fromEntries(entries.map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value!]))
  }

  get auth(): AuthInfo | undefined {
    return this.#incoming.auth as AuthInfo | undefined
  }

  get truncated(): boolean {
    return this.#incoming.rawHeaders.length > maxHeaders
  }

  get peer(): string | undefined {
    return this.#peer ?? this.#incoming.socket.remoteAddress
  }

  set peer(address: string | undefined) {
    this.#peer = address
  }
}

/** Names and values. Node silently drops further headers, unless its server is configured otherwise. */
const maxHeaders = 2_000

/** Headers that decide who may call, and of which Node shows only the first. */
const keptOnce: ReadonlySet<string> = new Set(['host', 'content-type', 'authorization'])

/** The value of a header that was sent more than once. It is invalid everywhere, because a proxy may have read the other one. */
const repeated = ', '

function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]!.length === name.length && rawHeaders[index]!.toLowerCase() === name) count++
  }
  return count > 1
}
