import cors from 'cors'
import express, { type RequestHandler } from 'express'
import type { OAuthTokenRevocationRequest } from '../../../shared/auth.ts'
import { answering, type EndpointRateLimit, limitRate } from '../endpoint.ts'
import { allowedMethods } from '../middleware/allowedMethods.ts'
import { authenticateClient } from '../middleware/clientAuth.ts'
import { Params } from '../params.ts'
import type { OAuthServerProvider } from '../provider.ts'

/** Options of `revocationHandler`. */
export type RevocationHandlerOptions = {
  provider: OAuthServerProvider
  /** Default: 50 requests in 15 minutes. */
  rateLimit?: EndpointRateLimit
}

/** Returns a handler for the endpoint that revokes tokens (RFC 7009). */
export function revocationHandler({ provider, rateLimit }: RevocationHandlerOptions): RequestHandler {
  if (!provider.revokeToken) throw new Error('Auth provider does not support revoking tokens')
  const router = express.Router()
  router.use(
    cors(),
    allowedMethods(['POST']),
    express.urlencoded({ extended: false }),
    ...limitRate(rateLimit, 50, 15, 'token revocation'),
    authenticateClient({ clientsStore: provider.clientsStore }),
  )
  router.post(
    '/',
    answering(async (req, res) => {
      await provider.revokeToken!(req.client!, toRevocation(req.body))
      res.status(200).json({})
    }),
  )
  return router
}

function toRevocation(body: unknown): OAuthTokenRevocationRequest {
  const params = new Params(body)
  const token = params.required('token')
  const hint = params.optional('token_type_hint')
  return hint === undefined ? { token } : { token, token_type_hint: hint }
}
