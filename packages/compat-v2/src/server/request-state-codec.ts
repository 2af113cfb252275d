import type { ServerContext } from '../core/context.ts'

export interface RequestStateCodecOptions {
  /** At least 32 bytes. */
  key: Uint8Array | string
  /** How long a state is valid. Default 600. */
  ttlSeconds?: number
  /** What a state belongs to, such as the user. A state of another one is rejected. */
  bind?: (ctx: ServerContext) => string
}

/** Signs the state that an `input_required` result carries, so that a client cannot change it. */
export interface RequestStateCodec<T = unknown> {
  /** @param ctx Required with `bind`. */
  mint(payload: T, ctx?: ServerContext): Promise<string>
  /** Pass it as `requestState.verify` to a server. */
  verify(state: string, ctx: ServerContext): Promise<T>
}

interface Envelope<T> {
  p: T
  exp: number
  b?: string
}

const prefix = 'v1.'
const tagLabel = 'mcp.requestState.bind:'
const utf8 = new TextEncoder()

/** Creates a codec with HMAC-SHA256. The payload is signed, not encrypted: the client can read it. */
export function createRequestStateCodec<T = unknown>(options: RequestStateCodecOptions): RequestStateCodec<T> {
  const { key, ttlSeconds = 600, bind } = options
  const secret = typeof key === 'string' ? utf8.encode(key) : Uint8Array.from(key)
  if (secret.byteLength < 32) {
    throw new RangeError(`createRequestStateCodec: key must be at least 32 bytes (got ${secret.byteLength})`)
  }
  if (!Number.isFinite(ttlSeconds)) throw new RangeError('createRequestStateCodec: ttlSeconds must be a finite number')
  const mac = createMac(secret)

  return {
    async mint(payload, ctx) {
      const envelope: Envelope<T> = { p: payload, exp: nowInSeconds() + ttlSeconds }
      if (bind) {
        if (!ctx) throw new TypeError('createRequestStateCodec: mint() requires ctx if bind is set')
        envelope.b = await mac.tag(bind(ctx))
      }
      const body = prefix + toBase64Url(utf8.encode(JSON.stringify(envelope)))
      return `${body}.${toBase64Url(await mac.sign(body))}`
    },

    async verify(state, ctx) {
      const dot = state.lastIndexOf('.')
      if (!state.startsWith(prefix) || dot <= prefix.length) throw new Error('malformed')
      const body = state.slice(0, dot)
      if (!(await mac.verify(body, fromBase64Url(state.slice(dot + 1))))) throw new Error('mac')
      const { p, exp, b } = parse<T>(body.slice(prefix.length))
      if (typeof exp !== 'number' || exp < nowInSeconds()) throw new Error('expired')
      const expected = bind ? await mac.tag(bind(ctx)) : undefined
      if (b !== expected) throw new Error('bind')
      return p
    },
  }
}

function createMac(secret: Uint8Array<ArrayBuffer>) {
  const { subtle } = globalThis.crypto
  let imported: ReturnType<typeof subtle.importKey> | undefined
  const key = () => {
    imported ??= subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify'])
    return imported
  }
  const sign = async (text: string) => new Uint8Array(await subtle.sign('HMAC', await key(), utf8.encode(text)))
  return {
    sign,
    verify: async (text: string, tag: Uint8Array<ArrayBuffer>) =>
      subtle.verify('HMAC', await key(), tag, utf8.encode(text)),
    /** A short tag of the owner, which is itself protected by the signature. */
    tag: async (owner: string) => toBase64Url((await sign(tagLabel + owner)).slice(0, 16)),
  }
}

function parse<T>(body: string): Envelope<T> {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(fromBase64Url(body)))
  } catch {
    throw new Error('malformed')
  }
}

function nowInSeconds(): number {
  return Math.floor(Date.now() / 1000)
}

function toBase64Url(bytes: Uint8Array): string {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
    return Uint8Array.from(binary, (character) => character.charCodeAt(0))
  } catch {
    throw new Error('malformed')
  }
}
