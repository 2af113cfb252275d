import { startAuthorizationServer } from 'tenon/testing'

/** Where users come back to. Nobody listens: the tests read where the page sends them. */
export const redirectUrl = 'http://127.0.0.1:7/callback'

/** An authorization server that lives as long as the test and lets its only user in at once. */
export async function startIssuer(t, options = {}) {
  const issuer = await startAuthorizationServer({ login: 'auto', ...options })
  t.after(() => issuer.close())
  return issuer
}

/** The page, or one that it leads to, sends the user back at once; a person would see it in a browser. */
export async function followRedirect(page) {
  const response = await fetch(page, { redirect: 'manual' })
  const location = response.headers.get('location')
  if (location === null) throw new Error(`${response.status} instead of a redirect: ${await response.text()}`)
  const next = new URL(location, page)
  return next.href.startsWith(redirectUrl) ? next : followRedirect(next)
}

/** What was sent to an endpoint, in order. */
export function sentTo(issuer, endpoint) {
  return issuer.requests.filter((request) => request.endpoint === endpoint).map(({ params }) => params)
}

/** By what the tokens so far were had. */
export function grantsAt(issuer) {
  return sentTo(issuer, 'token').map(({ grant_type }) => grant_type)
}

/** The metadata of the issuer, as those who run a server copy it. */
export async function metadataOf(issuer) {
  const { origin, pathname } = new URL(issuer.issuer)
  const path = pathname === '/' ? '' : pathname
  return (await fetch(`${origin}/.well-known/oauth-authorization-server${path}`)).json()
}
