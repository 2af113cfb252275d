import { isPlainTextServer, isUntrustedCertificate, type NetworkError, someCause } from '../../../net/network-errors.ts'

/** The first request of a connection. */
const openingMethods: ReadonlySet<string> = new Set(['server/discover', 'initialize'])

/**
 * Advice about a request that failed; empty if there is none.
 * @param method The JSON-RPC method.
 */
export function hintFor(cause: unknown, url: URL, method: string): string {
  if (url.protocol === 'https:' && isPlainTextServer(cause)) {
    return `. The server does not use TLS on this port: connect to ${withProtocol(url, 'http:')} instead`
  }
  if (isUntrustedCertificate(cause)) {
    return '. The certificate of the server is not trusted: pass its authority in the environment variable NODE_EXTRA_CA_CERTS'
  }
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
