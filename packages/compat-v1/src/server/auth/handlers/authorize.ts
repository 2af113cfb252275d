import express, { type RequestHandler, type Response } from 'express'
import type { OAuthClientInformationFull } from '../../../shared/auth.ts'
import { answering, type EndpointRateLimit, limitRate } from '../endpoint.ts'
import { toOAuthError } from '../endpoint-errors.ts'
import { InvalidClientError, InvalidRequestError, type OAuthError } from '../errors.ts'
import { allowedMethods } from '../middleware/allowedMethods.ts'
import { Params } from '../params.ts'
import type { AuthorizationParams, OAuthServerProvider } from '../provider.ts'

/** Options of `authorizationHandler`. */
export type AuthorizationHandlerOptions = {
  provider: OAuthServerProvider
  /** Default: 100 requests in 15 minutes. */
  rateLimit?: EndpointRateLimit
}

/** Whether a redirect URI is the registered one. Programs on the user's machine may choose another port (RFC 8252, 7.3). */
export function redirectUriMatches(requested: string, registered: string): boolean {
  if (requested === registered) return true
  if (!URL.canParse(requested) || !URL.canParse(registered)) return false
  const one = new URL(requested)
  const other = new URL(registered)
  return loopbackHosts.has(one.hostname) && withoutPort(one) === withoutPort(other)
}

const loopbackHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

function withoutPort({ protocol, hostname, pathname, search }: URL): string {
  return `${protocol}//${hostname}${pathname}${search}`
}

/** Returns a handler for the endpoint where users authorize clients. */
export function authorizationHandler({ provider, rateLimit }: AuthorizationHandlerOptions): RequestHandler {
  const router = express.Router()
  router.use(
    allowedMethods(['GET', 'POST']),
    express.urlencoded({ extended: false }),
    ...limitRate(rateLimit, 100, 15, 'authorization'),
  )
  router.all(
    '/',
    answering(async (req, res) => {
      const params = new Params(req.method === 'POST' ? req.body : req.query)
      // Until the redirect URI is known to belong to the client, errors must not be sent there.
      const { client, redirectUri } = await findClient(provider, params)
      await authorize(provider, client, redirectUri, params, res)
    }),
  )
  return router
}

async function findClient(
  { clientsStore }: OAuthServerProvider,
  params: Params,
): Promise<{ client: OAuthClientInformationFull; redirectUri: string }> {
  const id = params.required('client_id')
  const requested = params.optional('redirect_uri')
  if (requested !== undefined) params.url('redirect_uri')
  const client = await clientsStore.getClient(id)
  if (!client) throw new InvalidClientError('Invalid client_id')
  return { client, redirectUri: redirectUriOf(client, requested) }
}

function redirectUriOf(
  { redirect_uris: registered }: OAuthClientInformationFull,
  requested: string | undefined,
): string {
  if (requested !== undefined) {
    if (registered.some((uri) => redirectUriMatches(requested, uri))) return requested
    throw new InvalidRequestError('Unregistered redirect_uri')
  }
  if (registered.length === 1) return registered[0]!
  throw new InvalidRequestError('redirect_uri must be specified when client has multiple registered URIs')
}

/** Errors from here on are sent to the redirect URI. */
async function authorize(
  provider: OAuthServerProvider,
  client: OAuthClientInformationFull,
  redirectUri: string,
  params: Params,
  res: Response,
): Promise<void> {
  let state: string | undefined
  try {
    const wanted = toWanted(params, redirectUri)
    state = wanted.state
    await provider.authorize(client, wanted, res)
  } catch (error) {
    res.redirect(302, errorRedirect(redirectUri, toOAuthError(error), state))
  }
}

function toWanted(params: Params, redirectUri: string): AuthorizationParams {
  params.literal('response_type', 'code')
  const codeChallenge = params.required('code_challenge')
  params.literal('code_challenge_method', 'S256')
  const scope = params.optional('scope')
  return {
    state: params.optional('state'),
    scopes: scope === undefined ? [] : scope.split(' '),
    redirectUri,
    codeChallenge,
    resource: params.url('resource'),
  }
}

function errorRedirect(redirectUri: string, error: OAuthError, state: string | undefined): string {
  const url = new URL(redirectUri)
  url.searchParams.set('error', error.errorCode)
  url.searchParams.set('error_description', error.message)
  if (error.errorUri) url.searchParams.set('error_uri', error.errorUri)
  if (state) url.searchParams.set('state', state)
  return url.href
}
