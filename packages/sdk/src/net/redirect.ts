import type { HttpRequest, ResponseHead } from './send.ts'

/** The choices of a caller. The rest of the redirect rule is the same for all requests. */
export interface RedirectRules {
  readonly maxRedirects: number
  /**
   * `'refuse'` stays within the origin. `'allow'` also follows to another origin, but only if the request has neither body nor
   * credentials, and then without headers that are meant for the first origin.
   */
  readonly otherOrigins: 'refuse' | 'allow'
  /** Throws if requests must not go to this URL. Default: any http: or https: URL. */
  checkUrl?(url: URL): void
  /** The error for a redirect that is not followed. `why` completes the sentence "<URL> redirects ...". */
  refuse(from: URL, status: number, why: string): Error
}

/** Those that `fetch` follows. */
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Where a response redirects to, as the server wrote it; undefined if it does not redirect. */
export function locationOf(head: ResponseHead): string | undefined {
  return redirectStatuses.has(head.status) ? head.header('location') : undefined
}

/**
 * The URL and the headers of the request that a redirect leads to.
 *
 * A method is never changed, so only 307 and 308 redirect anything but a GET. Credentials never reach another origin, and no
 * redirect leads from https: to http:.
 *
 * @param count How many redirects this request has met, including this one.
 * @throws The error of `rules.refuse` if the redirect is not followed.
 */
export function followRedirect(
  request: Pick<HttpRequest, 'method' | 'url' | 'headers' | 'body'>,
  status: number,
  location: string,
  count: number,
  rules: RedirectRules,
): Pick<HttpRequest, 'url' | 'headers'> {
  const { url: from, method, headers, body } = request
  const refuse = (why: string) => rules.refuse(from, status, why)
  if (count > rules.maxRedirects) throw refuse(`more than ${rules.maxRedirects} times (maxRedirects)`)
  if (!URL.canParse(location, from.href)) throw refuse('to something that is not a URL')
  if (method !== 'GET' && status !== 307 && status !== 308) {
    throw refuse(`with HTTP ${status}, which would turn the ${method} into a GET`)
  }
  const url = new URL(location, from)
  const isSameOrigin = url.origin === from.origin
  if (!isSameOrigin && rules.otherOrigins === 'refuse') {
    throw refuse(`to another origin, ${url.origin}. Use that URL if you trust it`)
  }
  rules.checkUrl?.(url)
  if (url.username !== '' || url.password !== '') throw refuse('to a URL with a user name or password')
  if (isSameOrigin) return { url, headers }
  if (from.protocol === 'https:' && url.protocol === 'http:') throw refuse('from https: to http:')
  if (body !== undefined) throw refuse('a request body to another origin')
  if (Object.keys(headers).some((name) => credentialHeaders.has(name))) throw refuse('credentials to another origin')
  return { url, headers: Object.fromEntries(Object.entries(headers).filter(([name]) => neutralHeaders.has(name))) }
}

const credentialHeaders: ReadonlySet<string> = new Set(['authorization', 'cookie', 'dpop', 'proxy-authorization'])

/** Headers that say nothing about the caller. All others are meant for the origin that they were sent to. */
const neutralHeaders: ReadonlySet<string> = new Set(['accept', 'accept-language', 'mcp-protocol-version', 'user-agent'])
