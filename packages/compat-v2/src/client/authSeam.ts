const mark = Symbol.for('mcp.authSeamEscape')

/** Marks an error of an auth provider, so that a transport does not take it for an answer of the server. */
export function markAuthSeamEscape<T>(error: T): T {
  if (error instanceof Object && Object.isExtensible(error)) {
    Object.defineProperty(error, mark, { value: true, configurable: true })
  }
  return error
}

/** Whether an error comes from an auth provider. */
export function isAuthSeamEscape(error: unknown): boolean {
  return error instanceof Object && (error as { [mark]?: unknown })[mark] === true
}
