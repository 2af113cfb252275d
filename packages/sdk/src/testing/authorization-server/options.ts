import type { JSONWebKeySet } from 'jose'
import { clock } from '../../util/clock.ts'
import type { ClientMetadata } from './clients.ts'

/** How a client may prove at the token endpoint who it is. */
export type ClientAuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'

/**
 * Which metadata documents exist. With an issuer path such as `/tenant1` there are three addresses: `oauth` is
 * `/.well-known/oauth-authorization-server/tenant1`, `openid-inserted` is `/.well-known/openid-configuration/tenant1`,
 * `openid-appended` is `/tenant1/.well-known/openid-configuration`; `openid` means the last two. Without a path the two of
 * OpenID are one.
 */
export type MetadataDocuments = 'both' | 'oauth' | 'openid' | 'openid-inserted' | 'openid-appended' | 'none'

/** Somebody else whose signed assertions are taken in for tokens (RFC 7523): an identity provider, or a platform. */
export interface TrustedIssuer {
  issuer: string
  /** Its public keys, or where they are. */
  jwks: JSONWebKeySet | string
  /** `id-jag`: identity assertions for a client, `workload`: what a platform gives to its workloads. Default both. */
  accepts?: readonly ('id-jag' | 'workload')[] | undefined
}

export interface AuthorizationServerOptions {
  /** Default 0: any that is free. */
  port?: number | undefined
  /** What comes after the port in the issuer, such as `/tenant1`. Default none. */
  issuerPath?: string | undefined
  /** Default `both`. Without any, the endpoints are where 2025-03-26 looks for them: `/authorize`, `/token`, `/register`. */
  metadata?: MetadataDocuments | undefined
  /** Clients may register themselves (RFC 7591). Default true. */
  registration?: boolean | undefined
  /** A client id may be the URL of a document about the client. Default true. */
  clientIdMetadataDocuments?: boolean | undefined
  /** Clients that exist from the start; `registerClient` adds more. */
  clients?: readonly ClientMetadata[] | undefined
  /** Default all four. */
  tokenEndpointAuthMethods?: readonly ClientAuthMethod[] | undefined
  /** Default all that there are. */
  grantTypes?: readonly string[] | undefined
  /** Published, and others are refused. Default: none are published, and all are granted. */
  scopesSupported?: readonly string[] | undefined
  /** Whether redirects carry `iss` (RFC 9207), and the metadata says so. Default true. */
  issParameter?: boolean | undefined
  /** Default 300. */
  accessTokenSeconds?: number | undefined
  /** Default a day. */
  refreshTokenSeconds?: number | undefined
  /**
   * `always`: every client that registered for the grant type `refresh_token` gets one; `offline_access`: only with that
   * scope. Default `always`.
   */
  refreshTokens?: 'always' | 'offline_access' | 'never' | undefined
  /** Each refresh token works once; one that comes again ends all tokens of its login. Default true. */
  rotateRefreshTokens?: boolean | undefined
  /**
   * `auto` lets the first user in at once, for tests without a browser; `page` shows a page where a person chooses.
   * Default `auto`.
   */
  login?: 'auto' | 'page' | undefined
  /** Who can log in. The first one does with `auto`, unless `login_hint` names another. Default `['alice']`. */
  users?: readonly string[] | undefined
  /** Refuse requests that do not say which server the token is for (RFC 8707), as MCP clients must. Default true. */
  requireResource?: boolean | undefined
  /** The servers that tokens may be for. Default any. */
  resources?: readonly string[] | undefined
  /** Tokens bound to a key of the client (RFC 9449): on request, always, or not at all. Default true: on request. */
  dpop?: boolean | 'required' | undefined
  /** Proofs must carry a nonce of this server. Default false. */
  dpopNonce?: boolean | undefined
  /** Default none. */
  trustedIssuers?: readonly TrustedIssuer[] | undefined
  /**
   * As an identity provider: what a client of ours is called at another authorization server. Default: the same there.
   */
  clientIdAt?: ((audience: string, clientId: string) => string) | undefined
  /** What tokens are signed with. Default `ES256`. */
  algorithm?: 'ES256' | 'ES384' | 'RS256' | 'PS256' | 'EdDSA' | undefined
  /** Gets documents about clients and the keys of others. Default: the global one. */
  fetch?: typeof globalThis.fetch | undefined
  /** Returns the time in milliseconds since 1970. Default: the system clock. */
  now?: (() => number) | undefined
}

/** With every default in its place. */
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
    throw new TypeError(`issuerPath begins with a slash and does not end with one, such as '/tenant1'`)
  }
  if (settings.users.length === 0) throw new TypeError('users names at least one user')
  if (settings.tokenEndpointAuthMethods.length === 0) throw new TypeError('tokenEndpointAuthMethods names at least one')
  return settings
}

const allAuthMethods = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const
