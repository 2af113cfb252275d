import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isLoopbackAddress, isLoopbackHost } from 'tenon/internal'

/** Why a request is refused. */
export interface Refusal {
  readonly status: 401 | 403
  readonly message: string
}

/**
 * Refuses requests that do not come from this machine, or that another web page sends. A page that an attacker's domain name
 * points here (DNS rebinding) has that name as `Host`; other pages have another `Origin`.
 */
export function refuseForeign({ headers, socket }: IncomingMessage): Refusal | undefined {
  const { host = '', origin } = headers
  if (!isLoopbackAddress(socket.remoteAddress ?? '')) return forbidden('The inspector serves this machine only.')
  // Any port: it may be forwarded from another one.
  if (!isLoopbackHost(host.replace(/:\d{1,5}$/, '')))
    return forbidden(`Not a name of this machine: ${host.slice(0, 200)}`)
  if (origin !== undefined && origin !== `http://${host}`) return forbidden('The request comes from another web page.')
  return undefined
}

/** Refuses requests of other web pages that have no `Origin`, and those without the secret. */
export function refuseApi({ headers }: IncomingMessage, secret: string): Refusal | undefined {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    return forbidden('The request comes from another web page.')
  const [, token] = /^Bearer (.+)$/i.exec(headers.authorization ?? '') ?? []
  if (token !== undefined && isSameText(token, secret)) return undefined
  return { status: 401, message: 'Open the URL that "tenon inspect" printed: the secret is missing or wrong.' }
}

/** Compares in a time that says nothing about the texts. */
function isSameText(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function forbidden(message: string): Refusal {
  return { status: 403, message }
}
