import type { GuardedFetch } from '../../net/guarded-fetch.ts'
import { sha256 } from '../../util/base64url.ts'
import { clock } from '../../util/clock.ts'
import type { Sealer } from '../../util/sealer.ts'
import { invalidMetadata, type OAuthClient, type OAuthClientMetadata } from '../server/client.ts'
import { ClientDocuments, isDocumentAddress } from '../server/client-documents.ts'
import { invalidClient } from '../server/oauth-error.ts'
import { randomText } from '../server/random.ts'
import type { BrokerSettings } from './options.ts'

const maxRedirectUris = 5
const maxBytes = 2_048
/** What `maxBytes` becomes when it is sealed, and a little more. */
const maxIdLength = 4_096

export interface BrokerClient extends OAuthClient {
  readonly secretHash?: string | undefined
}

/** What an id says of its client. */
interface Sealed {
  readonly name?: string | undefined
  readonly redirects: readonly string[]
  readonly method: string
  readonly grants?: readonly string[] | undefined
  readonly type?: string | undefined
  /** The hash of its secret. */
  readonly secret?: string | undefined
}

/**
 * Clients that nobody keeps: the id that a client gets when it registers holds, sealed, all that it said, so that however many
 * register, nothing fills. Others bring the address of a document about them.
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
    const kept = { client_name, redirect_uris, grant_types, application_type }
    if (redirect_uris.length > maxRedirectUris) throw invalidMetadata(`redirect_uris names at most ${maxRedirectUris}`)
    if (new TextEncoder().encode(JSON.stringify(kept)).length > maxBytes) {
      throw invalidMetadata(`What a client says of itself has at most ${maxBytes} bytes`)
    }
    const secret = method === 'none' ? undefined : randomText()
    const sealed: Sealed = {
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
      ...kept,
      token_endpoint_auth_method: method,
      response_types,
    }
  }

  async find(clientId: string): Promise<BrokerClient | undefined> {
    if (clientId.length > maxIdLength) return undefined
    if (isDocumentAddress(clientId)) return this.#findDocument(clientId)
    const sealed = (await this.#sealer.open(clientId, this.#purpose)) as Sealed | undefined
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

  async hasSecret({ secretHash }: BrokerClient, given: string): Promise<boolean> {
    return secretHash === (await sha256(given))
  }

  async #findDocument(clientId: string): Promise<OAuthClient> {
    if (clientId.length > maxBytes) throw invalidClient(`The address of a document has at most ${maxBytes} characters`)
    const client = await this.#documents.find(clientId)
    // The one that is used is kept with each login.
    if (client.redirect_uris.some((uri) => uri.length > maxBytes)) {
      throw invalidClient(`A redirect URI has at most ${maxBytes} characters`)
    }
    if (client.token_endpoint_auth_method === 'none') return client
    throw invalidClient('Clients that are described by a document are taken without authentication only')
  }
}
