import { ProtocolError } from '../errors.ts'

/** Whoever has scopes. */
interface Scoped {
  readonly scopes: readonly string[]
}

/**
 * The caller's token does not allow what was asked for. Over HTTP it becomes a 403 whose challenge names the scopes, so that
 * the client can get a token that does; elsewhere, and once an answer has begun, the error says so.
 */
export class InsufficientScopeError extends ProtocolError {
  override name = 'InsufficientScopeError'
  readonly scopes: readonly string[]

  /** @param scopes Everything that the operation needs, not only what is missing. */
  constructor(scopes: readonly string[]) {
    super(-32_000, `This needs a token with the scopes ${scopes.join(', ')}`, { error: 'insufficient_scope', scopes })
    this.scopes = scopes
  }
}

/** Throws unless the caller has every one of the scopes. Who is not known has none. */
export function checkScopes(auth: Scoped | undefined, needed: readonly string[]): void {
  if (!hasScopes(auth, needed)) throw new InsufficientScopeError(needed)
}

/** Whether the caller has every one of the scopes: for lists, which show what the caller may use. */
export function hasScopes(auth: Scoped | undefined, needed: readonly string[]): boolean {
  const held = auth?.scopes ?? []
  return needed.every((scope) => held.includes(scope))
}
