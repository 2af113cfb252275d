import type { GuardedFetch } from '../../net/guarded-fetch.ts'
import { sha256 } from '../../util/base64url.ts'
import { clock } from '../../util/clock.ts'
import type { Sealer } from '../../util/sealer.ts'
import { invalidMetadata, type OAuthClient, type OAuthClientMetadata } from '../server/client.ts'
import { ClientDocuments, isDocumentUrl } from '../server/client-documents.ts'
import { invalidClient } from '../server/oauth-error.ts'
import { randomToken } from '../server/random.ts'
import type { BrokerSettings } from './options.ts'

const maxRedirectUris = 5
const maxBytes = 2_048
/** More than the length of `maxBytes` bytes when encrypted. */
const maxIdLength = 4_096

export interface BrokerClient extends OAuthClient {
  readonly secretHash?: string | undefined
}

/** The client metadata inside a client id. */
interface SealedClient {
  readonly name?: string | undefined
  readonly redirects: readonly string[]
  readonly method: string
  readonly grants?: readonly string[] | undefined
  readonly type?: string | undefined
  /** The hash of the client secret. */
  readonly secret?: string | undefined
}

/**
 * Clients without storage: the id that a client gets when it registers contains its metadata, encrypted, so registrations take
 * no space. Other clients use the URL of a metadata document as their id.
 */
export class BrokerClients {
  readonly #sealer: Sealer
  readonly #purpose: string
  readonly #documents: ClientDocuments

  constructor(sealer: Sealer, fetch: GuardedFetch, settings: BrokerSettings) {
    const { issuer, redirectSchemes, trustedClientHosts: trustedHosts, reportError } = settings
    this.#sealer = sealer
    this.#purpose = `client of ${issuer}`
    this.#documents = new ClientDocuments({ fetch, redirectSchemes, trustedHosts, reportError })
  }

  async register(client: OAuthClientMetadata): Promise<OAuthClient> {
    const { client_name, redirect_uris, token_endpoint_auth_method: method = 'none' } = client
    const { grant_types, response_types, application_type } = client
    const metadata = { client_name, redirect_uris, grant_types, application_type }
    if (redirect_uris.length > maxRedirectUris)
      throw invalidMetadata(`redirect_uris must contain at most ${maxRedirectUris} URIs.`)
    if (new TextEncoder().encode(JSON.stringify(metadata)).length > maxBytes) {
      throw invalidMetadata(`The client metadata must be at most ${maxBytes} bytes long.`)
    }
    const secret = method === 'none' ? undefined : randomToken()
    const sealed: SealedClient = {
      name: client_name,
      redirects: redirect_uris,
      method,
      grants: grant_types,
      type: application_type,
      secret: secret && (await sha256(secret)),
    }
    return {
      client_id: await this.#sealer.seal(sealed, this.#purpose),
      client_id_issued_at: Math.floor(clock.now() / 1000),
      ...(secret !== undefined && { client_secret: secret, client_secret_expires_at: 0 }),
      ...metadata,
      token_endpoint_auth_method: method,
      response_types,
    }
  }

  async find(clientId: string): Promise<BrokerClient | undefined> {
    if (clientId.length > maxIdLength) return undefined
    if (isDocumentUrl(clientId)) return this.#findDocument(clientId)
    const sealed = (await this.#sealer.open(clientId, this.#purpose)) as SealedClient | undefined
    if (!sealed) return undefined
    return {
      client_id: clientId,
      client_name: sealed.name,
      redirect_uris: sealed.redirects,
      token_endpoint_auth_method: sealed.method,
      grant_types: sealed.grants,
      application_type: sealed.type,
      secretHash: sealed.secret,
    }
  }

  async hasSecret({ secretHash }: BrokerClient, secret: string): Promise<boolean> {
    return secretHash === (await sha256(secret))
  }

  async #findDocument(clientId: string): Promise<OAuthClient> {
    if (clientId.length > maxBytes)
      throw invalidClient(`The URL of a client metadata document must be at most ${maxBytes} characters long.`)
    const client = await this.#documents.find(clientId)
    // The redirect URI is stored with each login.
    if (client.redirect_uris.some((uri) => uri.length > maxBytes)) {
      throw invalidClient(`A redirect URI must be at most ${maxBytes} characters long.`)
    }
    if (client.token_endpoint_auth_method === 'none') return client
    throw invalidClient('Clients with a metadata document must use token_endpoint_auth_method none.')
  }
}
