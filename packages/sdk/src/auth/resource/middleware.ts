import { type EndpointError, type PublicDocuments, pathOf, type RequestHead } from '../http.ts'
import { isSameResource } from '../same-resource.ts'
import { documentResponse, ResourceMetadata, resourceAt } from './metadata.ts'
import type { AuthInfo, AuthOptions, TokenRequest, TokenVerifier } from './options.ts'
import { userMembersOf } from './principal.ts'
import { TokenCheck } from './token-check.ts'

/** The identity that `requireBearerAuth` leaves as `request.auth`, and that an `OAuthTokenVerifier` returns. */
export interface BearerAuthInfo extends AuthInfo {
  /** Present only if the verifier returns it. Not enumerable, so that it does not end up in logs. */
  token?: string | undefined
  /** Further claims. */
  extra?: Record<string, unknown> | undefined
}

/** The token verifier interface of the official SDK. */
export interface OAuthTokenVerifier {
  /** Rejects with an error whose `errorCode` is `invalid_token` if the token is not valid. */
  verifyAccessToken(token: string): Promise<BearerAuthInfo>
}

/** Options of `requireBearerAuth`. */
export interface BearerAuthOptions extends Pick<AuthOptions, 'requiredScopes' | 'impliedScopes' | 'dpop'> {
  /** A verifier with the interface of the official SDK, or a function as for `auth.verify`. */
  verifier: OAuthTokenVerifier | TokenVerifier
  /**
   * The URL of the protected resource metadata. The challenge names it, and the audience of tokens is checked against the
   * resource that it belongs to.
   */
  resourceMetadataUrl?: string | URL | undefined
}

/** The outcome of a check that let the request pass. */
export interface BearerAuthResult {
  readonly auth: BearerAuthInfo
  /** Headers to add to the response. */
  readonly headers: Readonly<Record<string, string>> | undefined
}

/** The check behind `requireBearerAuth`. */
export class BearerAuth {
  readonly #check: TokenCheck
  readonly #verifier: BearerAuthOptions['verifier']
  readonly #metadataUrl: string | undefined
  readonly #resource: string | undefined
  /** The verifier's own results, whose further members are passed on. */
  readonly #results = new WeakMap<TokenRequest, BearerAuthInfo>()

  constructor(options: BearerAuthOptions) {
    const { verifier, resourceMetadataUrl } = options
    this.#verifier = verifier
    this.#metadataUrl = resourceMetadataUrl === undefined ? undefined : new URL(resourceMetadataUrl).href
    this.#resource = this.#metadataUrl && resourceAt(this.#metadataUrl)
    this.#check = new TokenCheck({ ...options, verify: (token, request) => this.#verify(token, request) })
  }

  async check(head: RequestHead): Promise<BearerAuthResult | EndpointError> {
    const request = toTokenRequest(head, this.#resource)
    const outcome = await this.#check.check(head, { request, metadataUrl: this.#metadataUrl, reportError })
    if ('message' in outcome) return outcome
    return { auth: toBearerInfo(outcome.auth, this.#results.get(request)), headers: outcome.headers }
  }

  async #verify(token: string, request: TokenRequest): Promise<BearerAuthInfo | undefined> {
    const verifier = this.#verifier
    if (typeof verifier === 'function') {
      const info = await verifier(token, request)
      if (info) this.#results.set(request, info)
      return info
    }
    const info = await verifier.verifyAccessToken(token)
    this.#results.set(request, info)
    // A verifier of this interface checks the resource itself. It is checked again only if our own URL is known.
    return this.#resource === undefined ? { ...info, resource: undefined } : info
  }
}

/** Options of `mcpAuthMetadataRouter`. */
export interface AuthMetadataOptions {
  /** Metadata of the authorization server. Also served by this server, where clients of 2025-03-26 look for it. */
  oauthMetadata: { readonly issuer: string }
  /** The public URL of the MCP server. */
  resourceServerUrl: string | URL
  /** The URL of the developer documentation. */
  serviceDocumentationUrl?: string | URL | undefined
  /** Scopes that clients may request. */
  scopesSupported?: readonly string[] | undefined
  /** The display name of the server. */
  resourceName?: string | undefined
}

/** The documents behind `mcpAuthMetadataRouter`: resource metadata, and a copy of the authorization server's metadata. */
export function metadataDocuments(options: AuthMetadataOptions): PublicDocuments {
  const { oauthMetadata, resourceServerUrl, serviceDocumentationUrl, scopesSupported, resourceName } = options
  const metadata = new ResourceMetadata({
    resource: resourceServerUrl,
    authorizationServers: [oauthMetadata.issuer],
    scopesSupported,
    resourceName,
    resourceDocumentation: serviceDocumentationUrl,
  })
  return {
    handles: (path) => path === serverMetadataPath || metadata.handles(path),
    respond: (request) =>
      pathOf(request) === serverMetadataPath ? documentResponse(request, oauthMetadata) : metadata.respond(request),
  }
}

const serverMetadataPath = '/.well-known/oauth-authorization-server'

function toTokenRequest(head: RequestHead, resource: string | undefined): TokenRequest {
  return {
    method: head.method,
    get urls() {
      return resource ? [new URL(resource).origin + pathOf(head), resource] : [head.url.replace(/[?#].*$/s, '')]
    },
    header: (name) => head.header(name),
    isFor: (audience) =>
      resource !== undefined && [audience].flat().some((one) => isSameResource(resource, String(one))),
  }
}

/** Adds the members that other libraries expect: `extra`, and the token if the verifier returned it. */
function toBearerInfo(auth: AuthInfo, found: BearerAuthInfo | undefined): BearerAuthInfo {
  const { subject, claims } = auth
  const extra = { ...(found?.extra ?? claims), ...(subject !== undefined && { sub: subject }) }
  const info: BearerAuthInfo = { ...(found && userMembersOf(found)), ...auth, extra }
  if (found?.token !== undefined) Object.defineProperty(info, 'token', { value: found.token })
  return info
}

function reportError(error: unknown): void {
  console.error('[tenon] An access token could not be verified:', error instanceof Error ? error.message : error)
}
