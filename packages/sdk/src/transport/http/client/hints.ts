/** Certificates that were rejected. Nothing was sent then. */
const certificateProblems: ReadonlySet<unknown> = new Set([
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

const greetings: ReadonlySet<string> = new Set(['server/discover', 'initialize'])

/** True when no TLS connection came about, so that nothing was sent and trying again does not help. */
export function isTlsFailure(cause: unknown): boolean {
  return isPlainServer(cause) || some(cause, ({ code }) => certificateProblems.has(code))
}

/**
 * What to do about a request that failed; empty where there is no advice.
 * @param about The JSON-RPC method.
 */
export function hintFor(cause: unknown, url: URL, about: string): string {
  if (url.protocol === 'https:' && isPlainServer(cause)) {
    return `. The server does not use TLS on this port: connect to ${withProtocol(url, 'http:')} instead`
  }
  if (some(cause, ({ code }) => certificateProblems.has(code))) {
    return '. The certificate of the server is not trusted: pass its authority in the environment variable NODE_EXTRA_CA_CERTS'
  }
  // The fetch of Node 24 gives its parser errors a name, but no code.
  if (some(cause, ({ code, name }) => String(code).startsWith('HPE_') || name === 'HTTPParserError')) {
    return `. The server does not speak HTTP on this port${url.protocol === 'http:' ? orSecure(url) : ''}`
  }
  const isFirst = url.protocol === 'http:' && greetings.has(about)
  return isFirst && some(cause, isHangUp) ? `. The server closed the connection${orSecure(url)}` : ''
}

/** What to do about a refusal, or about a page in place of an answer. */
export function hintForStatus(status: number | undefined, body: string | undefined, url: URL): string {
  if (status === 413) {
    return '. The request is larger than the server accepts: send less, or raise its limit (`maxBodyBytes` on a Tenon server)'
  }
  if (url.protocol === 'http:' && status === 400 && /\bhttps\b/i.test(body ?? '')) return orSecure(url)
  return isPage(body) ? notAnEndpoint : ''
}

export const notAnEndpoint =
  '. This is a web page, not an MCP endpoint: check the path of the URL, which is often "/mcp"'

/** True for the beginning of an HTML document. */
function isPage(body: string | undefined): boolean {
  return body !== undefined && /^\s*<(?:!doctype html|html|head|body)\b/i.test(body)
}

function orSecure(url: URL): string {
  return `. If it uses TLS, connect to ${withProtocol(url, 'https:')}`
}

function withProtocol({ host, pathname }: URL, protocol: string): string {
  return `${protocol}//${host}${pathname}`
}

/** TLS was spoken to a server that answered in plain text. */
function isPlainServer(cause: unknown): boolean {
  return some(
    cause,
    ({ code, message }) =>
      code === 'ERR_SSL_WRONG_VERSION_NUMBER' ||
      code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG' ||
      (code === 'EPROTO' && /wrong version number|packet length too long/.test(String(message))),
  )
}

function isHangUp({ code }: Failure): boolean {
  return code === 'ECONNRESET' || code === 'UND_ERR_SOCKET'
}

interface Failure {
  readonly name?: unknown
  readonly code?: unknown
  readonly message?: unknown
  readonly cause?: unknown
}

/** Looks at an error and its causes; `fetch` hides the reason in one. */
function some(error: unknown, matches: (failure: Failure) => boolean, depth = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > 5) return false
  return matches(error) || some((error as Failure).cause, matches, depth + 1)
}
