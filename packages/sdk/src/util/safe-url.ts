import { isLoopbackHost } from './loopback.ts'

/** Throws on a page that users should not be sent to (2025-11-25 elicitation, safe URL handling); gives its address. */
export function checkSafeUrl(page: string | URL): string {
  const url = URL.canParse(String(page)) ? new URL(page) : undefined
  if (!url) throw new TypeError(`A page needs a URL, not ${JSON.stringify(String(page).slice(0, 200))}`)
  if (url.username !== '' || url.password !== '') {
    throw new TypeError('The URL of a page must not carry a user name or a password')
  }
  const isLocal = url.protocol === 'http:' && isLoopbackHost(url.hostname)
  if (url.protocol === 'https:' || isLocal) return url.href
  throw new TypeError(`Users are sent to https: pages only (http: on this machine), not ${url.protocol}`)
}
