import type { JSONWebKeySet } from 'jose'
import { clock } from '../../util/clock.ts'
import type { ClientMetadata } from './clients.ts'

/** How a client authenticates at the token endpoint. */
export type ClientAuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'

/**
 * Which metadata documents exist. With an issuer path such as `/tenant1` there are three locations: `oauth` is
 * `/.well-known/oauth-authorization-server/tenant1`, `openid-inserted` is `/.well-known/openid-configuration/tenant1`,
 * `openid-appended` is `/tenant1/.well-known/openid-configuration`, and `openid` means the last two. Without a path,
 * the two OpenID locations are the same.
 */
export type MetadataDocuments = 'both' | 'oauth' | 'openid' | 'openid-inserted' | 'openid-appended' | 'none'

/** Another issuer whose signed assertions are exchanged for tokens (RFC 7523): an identity provider, or a platform. */
export interface TrustedIssuer {
  issuer: string
  /** Its public keys, or their URL. */
  jwks: JSONWebKeySet | string
  /** `id-jag`: identity assertions for a client. `workload`: tokens of the workloads of a platform. Default both. */
  accepts?: readonly ('id-jag' | 'workload')[] | undefined
}

export interface AuthorizationServerOptions {
  /** Default 0: a free port. */
  port?: number | undefined
  /** The path of the issuer, such as `/tenant1`. Default none. */
  issuerPath?: string | undefined
  /** Default `both`. With `none`, the endpoints have the paths of 2025-03-26: `/authorize`, `/token`, `/register`. */
  metadata?: MetadataDocuments | undefined
  /** Whether clients can register themselves (RFC 7591). Default true. */
  registration?: boolean | undefined
  /** Whether a client ID can be the URL of a client ID metadata document. Default true. */
  clientIdMetadataDocuments?: boolean | undefined
  /** The clients that exist from the start. `registerClient` adds more. */
  clients?: readonly ClientMetadata[] | undefined
  /** Default all four. */
  tokenEndpointAuthMethods?: readonly ClientAuthMethod[] | undefined
  /** Default: all supported grant types. */
  grantTypes?: readonly string[] | undefined
  /** Published in the metadata; other scopes are rejected. Default: none are published, and all are granted. */
  scopesSupported?: readonly string[] | undefined
  /** Whether redirects contain `iss` (RFC 9207), and the metadata says so. Default true. */
  issParameter?: boolean | undefined
  /** Default 300. */
  accessTokenSeconds?: number | undefined
  /** Default 86,400 (a day). */
  refreshTokenSeconds?: number | undefined
  /**
   * `always`: every client that registered for the grant type `refresh_token` gets one. `offline_access`: only with
   * that scope. Default `always`.
   */
  refreshTokens?: 'always' | 'offline_access' | 'never' | undefined
  /** Whether a refresh token can be used only once. Reusing one revokes all tokens of its login. Default true. */
  rotateRefreshTokens?: boolean | undefined
  /**
   * `auto` logs the first user in without interaction, for tests without a browser. `page` shows a login page. Default
   * `auto`.
   */
  login?: 'auto' | 'page' | undefined
  /** The users. With `auto` the first one logs in, unless `login_hint` names another. Default `['alice']`. */
  users?: readonly string[] | undefined
  /** Whether requests must name the server that the token is for (RFC 8707), as MCP clients must. Default true. */
  requireResource?: boolean | undefined
  /** The servers that tokens can be issued for. Default any. */
  resources?: readonly string[] | undefined
  /** Binds tokens to a key of the client (RFC 9449): on request, always, or never. Default true: on request. */
  dpop?: boolean | 'required' | undefined
  /** Whether proofs must contain a nonce of this server. Default false. */
  dpopNonce?: boolean | undefined
  /** Default none. */
  trustedIssuers?: readonly TrustedIssuer[] | undefined
  /**
   * Returns, as an identity provider, the ID of a client at another authorization server. Default: the same ID.
   */
  clientIdAt?: ((audience: string, clientId: string) => string) | undefined
  /** The signing algorithm of tokens. Default `ES256`. */
  algorithm?: 'ES256' | 'ES384' | 'RS256' | 'PS256' | 'EdDSA' | undefined
  /** Fetches client ID metadata documents and keys of other parties. Default: the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined
  /** Returns the time in milliseconds since 1970. Default: the system clock. */
  now?: (() => number) | undefined
}

/** The options with all defaults applied. */
export type Settings = { [Name in keyof AuthorizationServerOptions]-?: NonNullable<AuthorizationServerOptions[Name]> }

export const allGrantTypes = [
  'authorization_code',
  'refresh_token',
  'client_credentials',
  'urn:ietf:params:oauth:grant-type:jwt-bearer',
  'urn:ietf:params:oauth:grant-type:token-exchange',
] as const

export function resolveOptions(options: AuthorizationServerOptions): Settings {
  const settings: Settings = {
    port: options.port ?? 0,
    issuerPath: options.issuerPath ?? '',
    metadata: options.metadata ?? 'both',
    registration: options.registration ?? true,
    clientIdMetadataDocuments: options.clientIdMetadataDocuments ?? true,
    clients: options.clients ?? [],
    tokenEndpointAuthMethods: options.tokenEndpointAuthMethods ?? allAuthMethods,
    grantTypes: options.grantTypes ?? allGrantTypes,
    scopesSupported: options.scopesSupported ?? [],
    issParameter: options.issParameter ?? true,
    accessTokenSeconds: options.accessTokenSeconds ?? 300,
    refreshTokenSeconds: options.refreshTokenSeconds ?? 86_400,
    refreshTokens: options.refreshTokens ?? 'always',
    rotateRefreshTokens: options.rotateRefreshTokens ?? true,
    login: options.login ?? 'auto',
    users: options.users ?? ['alice'],
    requireResource: options.requireResource ?? true,
    resources: options.resources ?? [],
    dpop: options.dpop ?? true,
    dpopNonce: options.dpopNonce ?? false,
    trustedIssuers: options.trustedIssuers ?? [],
    clientIdAt: options.clientIdAt ?? ((_audience, clientId) => clientId),
    algorithm: options.algorithm ?? 'ES256',
    fetch: options.fetch ?? ((...call) => globalThis.fetch(...call)),
    now: options.now ?? (() => clock.now()),
  }
  if (!/^(\/[\w.~-]+)*$/.test(settings.issuerPath)) {
    throw new TypeError(`issuerPath must start with a slash and must not end with one, for example '/tenant1'`)
  }
  if (settings.users.length === 0) throw new TypeError('users must name at least one user')
  if (settings.tokenEndpointAuthMethods.length === 0) throw new TypeError('tokenEndpointAuthMethods must not be empty')
  return settings
}

const allAuthMethods = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const
