import { isPlainTextServer, isUntrustedCertificate, type NetworkError, someCause } from '../../../net/network-errors.ts'

/** The first request of a connection. */
const openingMethods: ReadonlySet<string> = new Set(['server/discover', 'initialize'])

/**
 * Describes why no connection could be opened, and what to do. The code of the error is at the end, for a search engine.
 * @param method The JSON-RPC method.
 */
export function describeUnreachable(cause: unknown, url: URL, method: string): string {
  const what = `connect to ${url.origin}${url.pathname}: ${unreachableReason(cause, url)} (${detailOf(cause)})`
  return openingMethods.has(method) ? `Cannot ${what}` : `${method} was not sent: cannot ${what}`
}

function unreachableReason(cause: unknown, url: URL): string {
  const has = (code: string) => someCause(cause, (error) => error.code === code)
  if (isPlainTextServer(cause))
    return `the server does not use TLS on this port. Use ${withProtocol(url, 'http:')} instead`
  if (isUntrustedCertificate(cause)) return certificateReason(has)
  if (has('ECONNREFUSED'))
    return `nothing is listening on ${url.host}. Start the server, or check the host and the port of the URL`
  if (has('ENOTFOUND')) return `there is no host named "${url.hostname}". Check the spelling of the URL`
  if (has('EAI_AGAIN')) return `the name "${url.hostname}" cannot be looked up now. Check the network connection`
  return 'the host does not answer. Check the URL, the network connection and firewalls'
}

function certificateReason(has: (code: string) => boolean): string {
  if (has('CERT_HAS_EXPIRED')) return 'the certificate of the server has expired. Its operator has to renew it'
  if (has('ERR_TLS_CERT_ALTNAME_INVALID'))
    return 'the certificate of the server is for another host name. Use the name that the certificate is for'
  return 'the certificate of the server is not trusted. If it is yours, set the environment variable NODE_EXTRA_CA_CERTS to the file of its authority'
}

/** The code of an error, or its message if it has none. */
function detailOf(cause: unknown): string {
  const { code, cause: inner, message } = (cause ?? {}) as NetworkError
  if (code !== undefined) return String(code)
  return inner === undefined ? String(message ?? cause) : detailOf(inner)
}

/**
 * Advice about a request whose response did not arrive; empty if there is none.
 * @param method The JSON-RPC method.
 */
export function hintFor(cause: unknown, url: URL, method: string): string {
  // The fetch of Node 24 gives its parser errors a name, but no code.
  if (someCause(cause, ({ code, name }) => String(code).startsWith('HPE_') || name === 'HTTPParserError')) {
    return `. The server does not speak HTTP on this port${url.protocol === 'http:' ? orHttps(url) : ''}`
  }
  const isFirst = url.protocol === 'http:' && openingMethods.has(method)
  return isFirst && someCause(cause, isHangUp) ? `. The server closed the connection${orHttps(url)}` : ''
}

/** Advice about an error status, or about a web page instead of a response; empty if there is none. */
export function hintForStatus(status: number | undefined, body: string | undefined, url: URL): string {
  if (status === 413) {
    return '. The request is larger than the server accepts: send less, or raise its limit (`maxBodyBytes` on a Tenon server)'
  }
  if (status === 431) {
    return '. The headers are larger than the server accepts. `Mcp-Name` and `Mcp-Param-*` repeat the name or URI and annotated arguments: shorten them, or raise its limit (`--max-http-header-size` on Node)'
  }
  if (url.protocol === 'http:' && status === 400 && /\bhttps\b/i.test(body ?? '')) return orHttps(url)
  return isPage(body) ? notAnEndpoint : ''
}

export const notAnEndpoint =
  '. This is a web page, not an MCP endpoint: check the path of the URL, which is often "/mcp"'

/** True for the beginning of an HTML document. */
function isPage(body: string | undefined): boolean {
  return body !== undefined && /^\s*<(?:!doctype html|html|head|body)\b/i.test(body)
}

function orHttps(url: URL): string {
  return `. If it uses TLS, connect to ${withProtocol(url, 'https:')}`
}

function withProtocol({ host, pathname }: URL, protocol: string): string {
  return `${protocol}//${host}${pathname}`
}

function isHangUp({ code }: NetworkError): boolean {
  return code === 'ECONNRESET' || code === 'UND_ERR_SOCKET'
}
