import type { FetchLike } from '../../shared/transport.ts'

const maxRedirects = 5
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/**
 * Wraps a fetch so that it follows redirects only within the origin of the request: codes, tokens and secrets never reach another
 * one. A redirect that is not followed is the response.
 */
export function fetchWithinOrigin(baseFetch: FetchLike): FetchLike {
  return async (input, init) => {
    if (init?.redirect === 'error' || init?.redirect === 'manual') return baseFetch(input, init)
    const manual: RequestInit = { ...init, redirect: 'manual' }
    let response = await baseFetch(input, manual)
    let url = new URL(input)
    for (let count = 0; count < maxRedirects; count++) {
      const target = redirectTarget(response, url.href)
      if (!target || !keepsRequest(response.status, init?.method) || !isWithinOrigin(url, target)) return response
      await response.body?.cancel()
      response = await baseFetch(target, manual)
      url = target
    }
    return response
  }
}

/** Wraps a fetch so that `fetchWithinOrigin` leaves redirects to it, as programs can ask for. */
export function fetchLeavingRedirects(baseFetch: FetchLike): FetchLike {
  return (input, { redirect: _, ...init } = {}) => baseFetch(input, init)
}

/** Describes a redirect that was not followed, without anything secret in its URL. Undefined for other responses. */
export function describeRedirect(response: Response): string | undefined {
  if (response.type === 'opaqueredirect') {
    return 'Redirect not followed: this runtime does not expose the redirect target'
  }
  const target = redirectTarget(response, response.url || undefined)
  if (!target) return undefined
  const place = new URL(target.pathname, target.origin)
  if (target.protocol === 'http:' && response.url.startsWith('https:')) {
    place.protocol = 'https:'
    return `Redirect to plain http not followed; try ${place.href} instead`
  }
  return `Redirect to ${place.href} not followed`
}

function redirectTarget(response: Response, from: string | undefined): URL | undefined {
  const location = redirectStatuses.has(response.status) ? response.headers.get('location') : null
  return location !== null && URL.canParse(location, from) ? new URL(location, from) : undefined
}

/** Redirects with 301, 302 and 303 turn other methods into a GET. */
function keepsRequest(status: number, method = 'GET'): boolean {
  return status === 307 || status === 308 || method.toUpperCase() === 'GET'
}

/** True for the same origin, and for its https: form if both use the default port. */
function isWithinOrigin(from: URL, to: URL): boolean {
  const addsUser =
    (to.username !== '' || to.password !== '') && (to.username !== from.username || to.password !== from.password)
  if (addsUser) return false
  const isUpgrade =
    from.protocol === 'http:' &&
    to.protocol === 'https:' &&
    from.hostname === to.hostname &&
    from.port === '' &&
    to.port === ''
  return from.origin === to.origin || isUpgrade
}
