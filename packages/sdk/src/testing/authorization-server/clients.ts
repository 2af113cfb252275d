import type { JSONWebKeySet } from 'jose'
import { ClientDocuments, isDocumentUrl } from '../../auth/server/client-documents.ts'
import { invalidClient } from '../../auth/server/oauth-error.ts'
import { random } from '../../util/random.ts'
import { guarded } from './guarded.ts'
import { allGrantTypes, type ClientAuthMethod, type Settings } from './options.ts'

/** Client metadata (RFC 7591). */
export interface ClientMetadata {
  /** Default: generated. */
  client_id?: string | undefined
  /** Default: generated if the client authenticates with a secret. */
  client_secret?: string | undefined
  client_name?: string | undefined
  redirect_uris?: readonly string[] | undefined
  /** Default `none` without a secret and keys, else `client_secret_basic` or `private_key_jwt`. */
  token_endpoint_auth_method?: ClientAuthMethod | undefined
  /** Default: all supported grant types. */
  grant_types?: readonly string[] | undefined
  application_type?: 'native' | 'web' | undefined
  /** The scopes that it gets if it requests none. */
  scope?: string | undefined
  jwks?: JSONWebKeySet | undefined
  jwks_uri?: string | undefined
  /** Whether it only gets tokens that are bound to its key. */
  dpop_bound_access_tokens?: boolean | undefined
}

export interface RegisteredClient extends ClientMetadata {
  readonly client_id: string
  readonly redirect_uris: readonly string[]
  readonly token_endpoint_auth_method: ClientAuthMethod
  readonly grant_types: readonly string[]
}

/** The known clients: registered ones, and those whose ID is the URL of a client ID metadata document. */
export class Clients {
  readonly #settings: Settings
  readonly #registered = new Map<string, RegisteredClient>()
  readonly #documents: ClientDocuments

  constructor(settings: Settings) {
    this.#settings = settings
    const { now } = settings
    this.#documents = new ClientDocuments({ fetch: guarded(settings), maxAgeSeconds: 86_400, now })
    for (const client of settings.clients) this.add(client)
  }

  add(metadata: ClientMetadata): RegisteredClient {
    const method = metadata.token_endpoint_auth_method ?? methodFor(metadata)
    const hasSecret = method === 'client_secret_basic' || method === 'client_secret_post'
    const client: RegisteredClient = {
      ...metadata,
      client_id: metadata.client_id ?? random.uuid(),
      ...(hasSecret && { client_secret: metadata.client_secret ?? random.uuid() }),
      redirect_uris: metadata.redirect_uris ?? [],
      token_endpoint_auth_method: method,
      grant_types: metadata.grant_types ?? allGrantTypes,
    }
    this.#registered.set(client.client_id, client)
    return client
  }

  remove(clientId: string): void {
    this.#registered.delete(clientId)
  }

  async find(clientId: string): Promise<RegisteredClient> {
    const client = this.#registered.get(clientId)
    if (client) return client
    if (this.#settings.clientIdMetadataDocuments && isDocumentUrl(clientId)) {
      return (await this.#documents.find(clientId)) as RegisteredClient
    }
    throw invalidClient('Unknown client')
  }
}

function methodFor({ client_secret, jwks, jwks_uri }: ClientMetadata): ClientAuthMethod {
  if (client_secret !== undefined) return 'client_secret_basic'
  return jwks || jwks_uri ? 'private_key_jwt' : 'none'
}
