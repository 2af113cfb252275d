import { ProtocolError } from '../errors.ts'
import { isObject } from '../util/objects.ts'
import type { AuthInfo } from './auth-info.ts'

/**
 * The caller's token does not allow what was asked for. Over HTTP it becomes a 403 whose challenge names the scopes, so that
 * the client can get a token that does; elsewhere, and once an answer has begun, the error says so.
 */
export class InsufficientScopeError extends ProtocolError {
  override name = 'InsufficientScopeError'
  readonly scopes: readonly string[]

  /** @param scopes Everything that the operation needs, not only what is missing. */
  constructor(scopes: readonly string[], wayOut = `Request a token with the scope ${scopes.join(' ')}.`) {
    const message = `Insufficient scope: this requires ${scopes.join(', ')}. ${wayOut}`
    super(-32_000, message, { error: 'insufficient_scope', scopes })
    this.scopes = scopes
  }
}

/** Reads the scopes back from an error that was made of an `InsufficientScopeError`; undefined for every other error. */
export function scopesRequiredBy({ data }: { readonly data?: unknown }): string[] | undefined {
  if (!isObject(data) || data.error !== 'insufficient_scope' || !Array.isArray(data.scopes)) return undefined
  return data.scopes.filter((scope) => typeof scope === 'string' && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope))
}

/** Throws unless the caller has every one of the scopes. Who is not known has none. */
export function checkScopes(auth: Pick<AuthInfo, 'scopes'> | undefined, needed: readonly string[]): void {
  if (!hasScopes(auth, needed)) throw new InsufficientScopeError(needed)
}

/** Whether the caller has every one of the scopes. */
export function hasScopes(auth: Pick<AuthInfo, 'scopes'> | undefined, needed: readonly string[]): boolean {
  return includesScopes(auth?.scopes, needed)
}

/** A layer in front of us may have left something else than a list, such as text, where `includes` finds parts of names. */
export function includesScopes(held: unknown, needed: readonly string[]): boolean {
  return needed.length === 0 || (Array.isArray(held) && needed.every((scope) => held.includes(scope)))
}
