import { principalOf } from '../era/access.ts'
import { clock } from '../util/clock.ts'
import { isObject } from '../util/objects.ts'
import { Sealer } from '../util/sealer.ts'
import type { Context } from './context.ts'
import { checkStateKey, type StateKey } from './state-key.ts'
import { ToolError } from './tool-error.ts'

export interface StateHandlesOptions {
  /** Seals the handles. Processes that share it accept each other's. Default: a random key of this object. */
  stateKey?: StateKey | undefined
  /** How long a handle is accepted. Default 3,600,000 (an hour). */
  ttlMs?: number | undefined
  /** The size of a state as JSON. Default 65,536. */
  maxStateBytes?: number | undefined
}

/** Handles that tools return, and take as arguments of later calls. */
export interface StateHandles<T> {
  /** A handle for the caller: it carries the state, sealed, so nothing is kept here. */
  create(state: T, ctx: Context): Promise<string>
  /** The state of a handle. Throws a `ToolError` for one that is expired, unknown, or of another caller. */
  open(handle: string, ctx: Context): Promise<T>
}

/**
 * Lets tools hand state to the client and get it back (2026-07-28 tools, stateful tools). Handles are opaque, cannot be
 * guessed or changed, expire, and work only for the authenticated user they were made for.
 *
 * @example
 * const carts = stateHandles<{ items: string[] }>({ stateKey: process.env.STATE_KEY })
 * server.registerTool('new_cart', {}, (_args, ctx) => carts.create({ items: [] }, ctx))
 * server.registerTool('show_cart', { inputSchema: { cart: z.string() } }, async ({ cart }, ctx) => {
 *   const { items } = await carts.open(cart, ctx)
 *   return items.join(', ')
 * })
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
        throw new TypeError(`The state of a handle has ${size} bytes; ${maxStateBytes} are allowed`)
      return sealer.seal({ state, expires: clock.now() + ttlMs }, purposeOf(ctx))
    },
    async open(handle, ctx) {
      // Sealing adds a third for base64, and less than 200 characters.
      const isTooLong = typeof handle !== 'string' || handle.length > maxStateBytes * 1.4 + 200
      const opened = isTooLong ? undefined : await sealer.open(handle, purposeOf(ctx))
      if (!isObject(opened)) throw new ToolError('Unknown state handle: it was not issued to this caller. Start again.')
      if ((opened.expires as number) <= clock.now()) throw new ToolError('The state handle has expired. Start again.')
      return opened.state as T
    },
  }
}
