/** The members of a network error that are used. */
export interface NetworkError {
  readonly name?: unknown
  readonly code?: unknown
  readonly syscall?: unknown
  readonly message?: unknown
  readonly cause?: unknown
}

/** Tests an error and its causes: `fetch` hides the reason in one. */
export function someCause(error: unknown, matches: (error: NetworkError) => boolean, depth = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > 5) return false
  return matches(error) || someCause((error as NetworkError).cause, matches, depth + 1)
}

/** True if a request that failed with this error certainly did not reach the server. */
export function wasNotSent(error: unknown): boolean {
  return isConnectFailure(error) || isTlsFailure(error) || someCause(error, ({ code }) => code === 'ENOTFOUND')
}

/** True if the connection could not be established, and may be later. A name that does not exist will not exist soon. */
export function isConnectFailure(error: unknown): boolean {
  return someCause(
    error,
    ({ code, syscall }) => connectErrors.has(code) || (code === 'ETIMEDOUT' && syscall === 'connect'),
  )
}

const connectErrors: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** True if no TLS connection was established. Trying again does not help. */
export function isTlsFailure(error: unknown): boolean {
  return isPlainTextServer(error) || isUntrustedCertificate(error)
}

/** True if the server answered a TLS handshake in plain text. */
export function isPlainTextServer(error: unknown): boolean {
  return someCause(
    error,
    ({ code, message }) =>
      code === 'ERR_SSL_WRONG_VERSION_NUMBER' ||
      code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG' ||
      (code === 'EPROTO' && /wrong version number|packet length too long/.test(String(message))),
  )
}

export function isUntrustedCertificate(error: unknown): boolean {
  return someCause(error, ({ code }) => certificateErrors.has(code))
}

const certificateErrors: ReadonlySet<unknown> = new Set([
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])
