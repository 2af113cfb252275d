import { randomBytes, randomUUID } from 'node:crypto'
import cors from 'cors'
import express, { type RequestHandler } from 'express'
import { type OAuthClientInformationFull, OAuthClientMetadataSchema } from '../../../shared/auth.ts'
import type { OAuthRegisteredClientsStore } from '../clients.ts'
import { answering, type EndpointRateLimit, limitRate } from '../endpoint.ts'
import { InvalidClientMetadataError } from '../errors.ts'
import { allowedMethods } from '../middleware/allowedMethods.ts'

/** Options of `clientRegistrationHandler`. */
export type ClientRegistrationHandlerOptions = {
  clientsStore: OAuthRegisteredClientsStore
  /** How long the secret of a client is valid. 0: it does not expire. Default 30 days. */
  clientSecretExpirySeconds?: number | undefined
  /** Default: 20 requests in an hour. */
  rateLimit?: EndpointRateLimit
  /** Whether this handler chooses the id of the client. If not, the store does. Default true. */
  clientIdGeneration?: boolean | undefined
}

type NewClient = Omit<OAuthClientInformationFull, 'client_id'> & { client_id?: string }

const thirtyDays = 30 * 24 * 60 * 60

/** Returns a handler for the endpoint that registers clients (RFC 7591). */
export function clientRegistrationHandler(options: ClientRegistrationHandlerOptions): RequestHandler {
  const { clientsStore, rateLimit } = options
  if (!clientsStore.registerClient) {
    throw new Error('Client registration store does not support registering clients')
  }
  const router = express.Router()
  router.use(cors(), allowedMethods(['POST']), express.json(), ...limitRate(rateLimit, 20, 60, 'client registration'))
  router.post(
    '/',
    answering(async (req, res) => {
      const parsed = OAuthClientMetadataSchema.safeParse(req.body)
      if (!parsed.success) throw new InvalidClientMetadataError(parsed.error.message)
      const client = toClient(parsed.data, options)
      res.status(201).json(await clientsStore.registerClient!(client as OAuthClientInformationFull))
    }),
  )
  return router
}

function toClient(
  metadata: Omit<NewClient, 'client_id'>,
  { clientSecretExpirySeconds = thirtyDays, clientIdGeneration = true }: ClientRegistrationHandlerOptions,
): NewClient {
  const now = Math.floor(Date.now() / 1000)
  const isPublic = metadata.token_endpoint_auth_method === 'none'
  const client: NewClient = { ...metadata, client_secret: undefined, client_secret_expires_at: undefined }
  if (!isPublic) {
    client.client_secret = randomBytes(32).toString('hex')
    client.client_secret_expires_at = clientSecretExpirySeconds > 0 ? now + clientSecretExpirySeconds : 0
  }
  if (clientIdGeneration) {
    client.client_id = randomUUID()
    client.client_id_issued_at = now
  }
  return client
}
