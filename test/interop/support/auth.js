import { startAuthorizationServer } from 'tenon/testing'

/** The redirect URL. Nothing listens there: the tests read the redirect itself. */
export const redirectUrl = 'http://127.0.0.1:7/callback'

/** Starts an authorization server for the duration of the test that logs in its only user automatically. */
export async function startIssuer(t, options = {}) {
  const issuer = await startAuthorizationServer({ login: 'auto', ...options })
  t.after(() => issuer.close())
  return issuer
}

/** Follows redirects until the user is sent back; stands in for a browser. */
export async function followRedirect(page) {
  const response = await fetch(page, { redirect: 'manual' })
  const location = response.headers.get('location')
  if (location === null) throw new Error(`${response.status} instead of a redirect: ${await response.text()}`)
  const next = new URL(location, page)
  return next.href.startsWith(redirectUrl) ? next : followRedirect(next)
}

/** Returns the parameters sent to an endpoint, in order. */
export function sentTo(issuer, endpoint) {
  return issuer.requests.filter((request) => request.endpoint === endpoint).map(({ params }) => params)
}

/** Returns the grant types of all token requests so far. */
export function grantsAt(issuer) {
  return sentTo(issuer, 'token').map(({ grant_type }) => grant_type)
}

/** Fetches the metadata of the issuer, as server operators copy it. */
export async function metadataOf(issuer) {
  const { origin, pathname } = new URL(issuer.issuer)
  const path = pathname === '/' ? '' : pathname
  return (await fetch(`${origin}/.well-known/oauth-authorization-server${path}`)).json()
}
