import { isLoopbackHost } from '../../util/loopback.ts'

/** Returns what is wrong with the URL of a server; undefined if nothing is. */
export function checkServerUrl(text: string, allowInsecure: boolean): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url) return 'must be a complete URL, such as "https://example.com/mcp".'
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return `must start with https:, not ${url.protocol}`
  if (url.username !== '' || url.password !== '')
    return 'must not contain a user name or password, because URLs are shown and logged. Use `headers` or `auth`.'
  if (url.protocol === 'https:' || isLoopbackHost(url.hostname) || allowInsecure) return undefined
  return `uses plain http: to another machine (${url.hostname}), so anyone on the network can read and change the traffic. Use https:, or set "allowInsecure": true.`
}
