import type { ServerResponse } from 'node:http'
import { isSameResource } from '../../../../auth/resource/same-resource.ts'
import { type HttpCall, Refusal, refusedCode } from '../call.ts'
import { NodeCall, type NodeRequest } from '../node.ts'
import type { AuthInfo, AuthOptions, TokenRequest, VerifyToken } from '../options.ts'
import { userMembersOf } from '../principal.ts'
import { answerWithDocument, pathOf, ResourceMetadata, resourceAt } from './metadata.ts'
import { TokenCheck } from './token-check.ts'

/** What Express, Connect and their like call. */
export type NodeMiddleware = (request: NodeRequest, response: ServerResponse, next?: (error?: unknown) => void) => void

/** What verifiers of the well-known interface give, and what `requireBearerAuth` leaves on the request. */
export interface BearerAuthInfo extends AuthInfo {
  /** Only where the verifier gives it. It is never listed, so that it does not end up in a log by accident. */
  token?: string | undefined
  extra?: Record<string, unknown> | undefined
}

export interface OAuthTokenVerifier {
  /** Rejects with an error whose `errorCode` is `invalid_token` when it is not valid. */
  verifyAccessToken(token: string): Promise<BearerAuthInfo>
}

export interface BearerAuthOptions extends Pick<AuthOptions, 'requiredScopes' | 'impliedScopes' | 'dpop'> {
  /** The well-known interface, or what `auth.verify` takes. */
  verifier: OAuthTokenVerifier | VerifyToken
  /** Where clients learn how to get a token; also says which resource this is, so that the audience can be checked. */
  resourceMetadataUrl?: string | URL | undefined
}

/**
 * Lets requests pass that present a valid token, and leaves what it says as `request.auth`, which handlers behind it find in
 * `ctx.auth`. `auth` of `serveHttp` and `createMcpHandler` does the same without a framework.
 *
 * @example
 * app.all('/mcp', requireBearerAuth({ verifier, resourceMetadataUrl }), handler.node)
 */
export function requireBearerAuth(options: BearerAuthOptions): NodeMiddleware {
  const { verifier, resourceMetadataUrl } = options
  const metadata = resourceMetadataUrl === undefined ? undefined : new URL(resourceMetadataUrl).href
  const resource = metadata && resourceAt(metadata)
  const given = new WeakMap<TokenRequest, BearerAuthInfo>()
  const verify: VerifyToken = async (token, request) => {
    if (typeof verifier === 'function') {
      const info = await verifier(token, request)
      if (info) given.set(request, info)
      return info
    }
    const info = await verifier.verifyAccessToken(token)
    given.set(request, info)
    // A verifier of this interface has checked the resource; where we know our own URL, we check it, too.
    return resource === undefined ? { ...info, resource: undefined } : info
  }
  const check = new TokenCheck({ ...options, verify })
  return (request, response, next) => {
    const call = new NodeCall(request, response)
    const tokenRequest = toTokenRequest(call, resource)
    check.check(call, tokenRequest, metadata, reportError).then(
      ({ auth, headers }) => {
        for (const [name, value] of Object.entries(headers ?? {})) response.setHeader(name, value)
        request.auth = toBearerInfo(auth, given.get(tokenRequest))
        next?.()
      },
      (problem) => (problem instanceof Refusal ? problem.send(call) : next?.(problem)),
    )
  }
}

export interface AuthMetadataOptions {
  /** Metadata of the authorization server; also served from here, for clients of 2025-03-26 which look for it here. */
  oauthMetadata: { readonly issuer: string }
  /** The URL of this server as clients know it. */
  resourceServerUrl: string | URL
  serviceDocumentationUrl?: string | URL | undefined
  scopesSupported?: readonly string[] | undefined
  resourceName?: string | undefined
}

/** Serves the metadata that clients need to log in; everything else is left to what follows. To be mounted at the root. */
export function mcpAuthMetadataRouter(options: AuthMetadataOptions): NodeMiddleware {
  const { oauthMetadata, resourceServerUrl: resource, serviceDocumentationUrl } = options
  const metadata = new ResourceMetadata(
    {
      resource,
      authorizationServers: [oauthMetadata.issuer],
      scopesSupported: options.scopesSupported,
      resourceName: options.resourceName,
      resourceDocumentation: serviceDocumentationUrl,
    },
    undefined,
  )
  return (request, response, next) => {
    const call = new NodeCall(request, response)
    const path = pathOf(call)
    if (metadata.handles(path)) metadata.answer(call)
    else if (path === '/.well-known/oauth-authorization-server') answerWithDocument(call, oauthMetadata)
    else if (next) next()
    else new Refusal(404, refusedCode, 'Nothing is served here').send(call)
  }
}

function toTokenRequest({ method, request }: HttpCall, resource: string | undefined): TokenRequest {
  return {
    method,
    get urls() {
      const path = pathOf({ request })
      return resource ? [new URL(resource).origin + path, resource] : [request.url.replace(/[?#].*$/s, '')]
    },
    header: (name) => request.header(name),
    isFor: (audience) =>
      resource !== undefined && [audience].flat().some((one) => isSameResource(resource, String(one))),
  }
}

/** Adds what middleware of other libraries expects there: `extra`, and the token if the verifier returned it. */
function toBearerInfo(auth: AuthInfo, given: BearerAuthInfo | undefined): BearerAuthInfo {
  const { subject, claims } = auth
  const extra = { ...(given?.extra ?? claims), ...(subject !== undefined && { sub: subject }) }
  const info: BearerAuthInfo = { ...(given && userMembersOf(given)), ...auth, extra }
  if (given?.token !== undefined) Object.defineProperty(info, 'token', { value: given.token })
  return info
}

function reportError(error: unknown): void {
  console.error('[tenon] A token could not be checked:', error instanceof Error ? error.message : error)
}
