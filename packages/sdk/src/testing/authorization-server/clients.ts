import type { JSONWebKeySet } from 'jose'
import { isObject, type JsonObject } from '../../util/objects.ts'
import { fetchJson } from './fetch-json.ts'
import { Refusal } from './http.ts'
import { allGrantTypes, type ClientAuthMethod, type Settings } from './options.ts'
import { checkRedirectUris } from './redirect-uris.ts'

/** A client as RFC 7591 describes it. */
export interface ClientMetadata {
  /** Made up when absent. */
  client_id?: string | undefined
  /** Made up when absent and the client authenticates with one. */
  client_secret?: string | undefined
  client_name?: string | undefined
  redirect_uris?: readonly string[] | undefined
  /** Default `none` without a secret and keys, else `client_secret_basic` or `private_key_jwt`. */
  token_endpoint_auth_method?: ClientAuthMethod | undefined
  /** Default all that there are. */
  grant_types?: readonly string[] | undefined
  application_type?: 'native' | 'web' | undefined
  /** What it gets when it asks for no scope. */
  scope?: string | undefined
  jwks?: JSONWebKeySet | undefined
  jwks_uri?: string | undefined
  /** It gets no tokens but those that are bound to its key. */
  dpop_bound_access_tokens?: boolean | undefined
}

export interface RegisteredClient extends ClientMetadata {
  readonly client_id: string
  readonly redirect_uris: readonly string[]
  readonly token_endpoint_auth_method: ClientAuthMethod
  readonly grant_types: readonly string[]
}

/** Who may ask for tokens: clients that were registered, and those whose id is the address of a document about them. */
export class Clients {
  readonly #settings: Settings
  readonly #registered = new Map<string, RegisteredClient>()
  readonly #documents = new Map<string, { client: RegisteredClient; until: number }>()

  constructor(settings: Settings) {
    this.#settings = settings
    for (const client of settings.clients) this.add(client)
  }

  add(metadata: ClientMetadata): RegisteredClient {
    const method = metadata.token_endpoint_auth_method ?? methodFor(metadata)
    const hasSecret = method === 'client_secret_basic' || method === 'client_secret_post'
    const client: RegisteredClient = {
      ...metadata,
      client_id: metadata.client_id ?? crypto.randomUUID(),
      ...(hasSecret && { client_secret: metadata.client_secret ?? crypto.randomUUID() }),
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
    if (this.#settings.clientIdMetadataDocuments && isDocumentAddress(clientId)) return this.#fromDocument(clientId)
    throw new Refusal('invalid_client', 'There is no such client', 401)
  }

  /** 2026-07-28 client registration, Client ID Metadata Documents: fetched, kept as long as HTTP says, and checked. */
  async #fromDocument(clientId: string): Promise<RegisteredClient> {
    const kept = this.#documents.get(clientId)
    if (kept && kept.until > this.#settings.now()) return kept.client
    try {
      const { document, maxAgeSeconds } = await fetchJson(clientId, this.#settings)
      const client = toClient(clientId, document)
      this.#documents.set(clientId, { client, until: this.#settings.now() + maxAgeSeconds * 1_000 })
      return client
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new Refusal('invalid_client', `The document about the client cannot be used: ${reason}`, 401)
    }
  }
}

export function isDocumentAddress(clientId: string): boolean {
  if (!URL.canParse(clientId)) return false
  const url = new URL(clientId)
  return /^https?:$/.test(url.protocol) && url.pathname !== '/' && url.hash === '' && url.href === clientId
}

/** What a client says about itself is used as text in some places. */
export function checkTexts(metadata: JsonObject): void {
  for (const name of ['client_name', 'scope', 'jwks_uri']) {
    const isText = metadata[name] === undefined || typeof metadata[name] === 'string'
    if (!isText) throw new Refusal('invalid_client_metadata', `${name} is a text`)
  }
  const isKeySet = metadata.jwks === undefined || isObject(metadata.jwks)
  if (!isKeySet) throw new Refusal('invalid_client_metadata', 'jwks is a key set')
}

function methodFor({ client_secret, jwks, jwks_uri }: ClientMetadata): ClientAuthMethod {
  if (client_secret !== undefined) return 'client_secret_basic'
  return jwks || jwks_uri ? 'private_key_jwt' : 'none'
}

function toClient(clientId: string, document: JsonObject): RegisteredClient {
  const { client_id, client_name, redirect_uris, token_endpoint_auth_method: method = 'none' } = document
  if (client_id !== clientId) throw new Error('its client_id is not its own address')
  if (client_name === undefined) throw new Error('client_name is missing')
  checkTexts(document)
  // Whoever reads the document would know the secret.
  if ('client_secret' in document || (method !== 'none' && method !== 'private_key_jwt')) {
    throw new Error('a client that is described by a public document cannot have a secret')
  }
  return {
    ...(document as ClientMetadata),
    client_id: clientId,
    redirect_uris: checkRedirectUris(redirect_uris, document.application_type),
    token_endpoint_auth_method: method,
    grant_types: Array.isArray(document.grant_types) ? document.grant_types : ['authorization_code'],
  }
}
