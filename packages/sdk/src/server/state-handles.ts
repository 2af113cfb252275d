import { principalOf } from '../era/access.ts'
import { clock } from '../util/clock.ts'
import { isObject } from '../util/objects.ts'
import { random } from '../util/random.ts'
import { Sealer } from '../util/sealer.ts'
import type { Context } from './context.ts'
import { ToolError } from './tool-error.ts'

/** Options of `stateHandles()`. */
export interface StateHandlesOptions {
  /** Encrypts the handles. Use the same key in all processes. Default: a random key. */
  stateKey?: StateKey | undefined
  /** How long a handle is valid. Default 3,600,000 (one hour). */
  ttlMs?: number | undefined
  /** Maximum size of a state as JSON. Default 65,536. */
  maxStateBytes?: number | undefined
}

/** Creates handles that tools return and accept as arguments of later calls. */
export interface StateHandles<T> {
  /** Returns a handle for the caller. It contains the encrypted state, so the server stores nothing. */
  create(state: T, ctx: Context): Promise<string>
  /** Returns the state of a handle. Throws a `ToolError` if it has expired, is invalid or belongs to another caller. */
  open(handle: string, ctx: Context): Promise<T>
}

/**
 * Lets tools pass state to the client and get it back (2026-07-28 tools, stateful tools). Handles are opaque, cannot be guessed
 * or modified, expire, and are valid only for the user they were created for.
 *
 * @example
 * ```ts
 * const carts = stateHandles<{ items: string[] }>({ stateKey: process.env.STATE_KEY })
 * server.registerTool('new_cart', {}, (_args, ctx) => carts.create({ items: [] }, ctx))
 * server.registerTool('show_cart', { inputSchema: { cart: z.string() } }, async ({ cart }, ctx) => {
 *   const { items } = await carts.open(cart, ctx)
 *   return items.join(', ')
 * })
 * ```
 */
export function stateHandles<T>(options: StateHandlesOptions = {}): StateHandles<T> {
  const { stateKey, ttlMs = 3_600_000, maxStateBytes = 65_536 } = options
  if (stateKey !== undefined) checkStateKey(stateKey)
  const sealer = new Sealer(stateKey === undefined ? [] : [stateKey])
  const purposeOf = (ctx: Context) => `handle ${JSON.stringify(principalOf(ctx.call) ?? null)}`
  return {
    async create(state, ctx) {
      const size = new TextEncoder().encode(JSON.stringify(state)).length
      if (size > maxStateBytes)
        throw new TypeError(`The state of a handle is too large: ${size} bytes, and the limit is ${maxStateBytes}`)
      return sealer.seal({ state, expires: clock.now() + ttlMs }, purposeOf(ctx))
    },
    async open(handle, ctx) {
      // Encryption adds a third for base64, and less than 200 characters.
      const isTooLong = typeof handle !== 'string' || handle.length > maxStateBytes * 1.4 + 200
      const opened = isTooLong ? undefined : await sealer.open(handle, purposeOf(ctx))
      if (!isObject(opened)) throw new ToolError('Invalid state handle: it was not issued to this caller. Start again.')
      if ((opened.expires as number) <= clock.now()) throw new ToolError('The state handle has expired. Start again.')
      return opened.state as T
    },
  }
}

/** A secret for encryption: at least 32 random characters or bytes. */
export type StateKey = string | Uint8Array

let processKey: Uint8Array | undefined

/**
 * Returns a random key that all servers of this process share. Pass this function as `stateKey` if you create a server for each
 * request, so that one server can open the request state of another.
 */
export function processStateKey(): Uint8Array {
  processKey ??= random.bytes(32)
  return processKey
}

/** Throws if a key is short enough to be guessed. */
export function checkStateKey(key: unknown): void {
  const isKey = typeof key === 'string' || key instanceof Uint8Array
  if (!isKey || key.length < 32) throw new TypeError('stateKey must have at least 32 random characters or bytes')
}
