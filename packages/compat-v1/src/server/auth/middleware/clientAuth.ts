import { createHash, timingSafeEqual } from 'node:crypto'
import type { RequestHandler } from 'express'
import type { OAuthClientInformationFull } from '../../../shared/auth.ts'
import type { OAuthRegisteredClientsStore } from '../clients.ts'
import { sendError } from '../endpoint-errors.ts'
import { InvalidClientError } from '../errors.ts'
import { Params } from '../params.ts'

/** Options of `authenticateClient`. */
export type ClientAuthenticationMiddlewareOptions = {
  clientsStore: OAuthRegisteredClientsStore
}

declare module 'express-serve-static-core' {
  interface Request {
    /** The client that `authenticateClient` found. */
    client?: OAuthClientInformationFull
  }
}

/** Returns middleware that authenticates the client by its id and secret in the form, and sets `req.client`. */
export function authenticateClient({ clientsStore }: ClientAuthenticationMiddlewareOptions): RequestHandler {
  return async (req, res, next) => {
    try {
      const params = new Params(req.body)
      const id = params.required('client_id')
      const secret = params.optional('client_secret')
      const client = await clientsStore.getClient(id)
      if (!client) throw new InvalidClientError('Invalid client_id')
      checkSecret(client, secret)
      req.client = client
    } catch (error) {
      return sendError(res, error)
    }
    next()
  }
}

function checkSecret(client: OAuthClientInformationFull, secret: string | undefined): void {
  const { client_secret: expected, client_secret_expires_at: expiresAt } = client
  if (!expected) return
  if (!secret) throw new InvalidClientError('Client secret is required')
  if (!isSame(expected, secret)) throw new InvalidClientError('Invalid client_secret')
  if (expiresAt && expiresAt < Math.floor(Date.now() / 1000)) throw new InvalidClientError('Client secret has expired')
}

/** Takes the same time whatever the secrets have in common. */
function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(one), digest(other))
}
