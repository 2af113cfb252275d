import cors from 'cors'
import express, { type RequestHandler } from 'express'
import { verifyChallenge } from '../../../client/oauth/pkce.ts'
import type { OAuthClientInformationFull, OAuthTokens } from '../../../shared/auth.ts'
import { answering, type EndpointRateLimit, limitRate } from '../endpoint.ts'
import { InvalidGrantError, UnsupportedGrantTypeError } from '../errors.ts'
import { allowedMethods } from '../middleware/allowedMethods.ts'
import { authenticateClient } from '../middleware/clientAuth.ts'
import { Params } from '../params.ts'
import type { OAuthServerProvider } from '../provider.ts'

/** Options of `tokenHandler`. */
export type TokenHandlerOptions = {
  provider: OAuthServerProvider
  /** Default: 50 requests in 15 minutes. */
  rateLimit?: EndpointRateLimit
}

/** Returns a handler for the endpoint that issues tokens for codes and refresh tokens. */
export function tokenHandler({ provider, rateLimit }: TokenHandlerOptions): RequestHandler {
  const router = express.Router()
  router.use(
    cors(),
    allowedMethods(['POST']),
    express.urlencoded({ extended: false }),
    ...limitRate(rateLimit, 50, 15, 'token'),
    authenticateClient({ clientsStore: provider.clientsStore }),
  )
  router.post(
    '/',
    answering(async (req, res) => {
      res.status(200).json(await grant(provider, req.client!, new Params(req.body)))
    }),
  )
  return router
}

function grant(
  provider: OAuthServerProvider,
  client: OAuthClientInformationFull,
  params: Params,
): Promise<OAuthTokens> {
  const type = params.required('grant_type')
  if (type === 'authorization_code') return exchangeCode(provider, client, params)
  if (type === 'refresh_token') return refresh(provider, client, params)
  throw new UnsupportedGrantTypeError('The grant type is not supported by this authorization server.')
}

async function exchangeCode(
  provider: OAuthServerProvider,
  client: OAuthClientInformationFull,
  params: Params,
): Promise<OAuthTokens> {
  const code = params.required('code')
  const verifier = params.required('code_verifier')
  const redirectUri = params.optional('redirect_uri')
  const resource = params.url('resource')
  const isCheckedElsewhere = provider.skipLocalPkceValidation
  if (!isCheckedElsewhere) {
    const challenge = await provider.challengeForAuthorizationCode(client, code)
    const isValid = await verifyChallenge(verifier, challenge)
    if (!isValid) throw new InvalidGrantError('code_verifier does not match the challenge')
  }
  const passedOn = isCheckedElsewhere ? verifier : undefined
  return provider.exchangeAuthorizationCode(client, code, passedOn, redirectUri, resource)
}

function refresh(
  provider: OAuthServerProvider,
  client: OAuthClientInformationFull,
  params: Params,
): Promise<OAuthTokens> {
  const token = params.required('refresh_token')
  const scopes = params.optional('scope')?.split(' ')
  return provider.exchangeRefreshToken(client, token, scopes, params.url('resource'))
}
