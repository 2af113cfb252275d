import { isLoopbackHost } from './loopback.ts'

/** Returns the URL as text. Throws if users should not be sent there (2025-11-25 elicitation, safe URL handling). */
export function checkSafeUrl(value: string | URL): string {
  const url = URL.canParse(String(value)) ? new URL(value) : undefined
  if (!url) throw new TypeError(`Invalid URL: ${JSON.stringify(String(value).slice(0, 200))}`)
  if (url.username !== '' || url.password !== '') {
    throw new TypeError('The URL must not contain a user name or password')
  }
  const isLocal = url.protocol === 'http:' && isLoopbackHost(url.hostname)
  if (url.protocol === 'https:' || isLocal) return url.href
  throw new TypeError(`The URL must use https: (or http: on localhost), not ${url.protocol}`)
}
