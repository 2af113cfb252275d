import type { AuthRoutes } from '../../../auth/http.ts'
import { ResourceMetadata } from '../../../auth/resource/metadata.ts'
import type { AuthOptions } from '../../../auth/resource/options.ts'
import { TokenCheck } from '../../../auth/resource/token-check.ts'
import { isLoopbackHost } from '../../../util/loopback.ts'
import { headOf, toRefusal } from './auth-routes.ts'
import { AuthorizedCall } from './authorized-call.ts'
import type { HttpCall } from './call.ts'
import type { HttpOptions, SsePaths } from './options.ts'

/** Checks the access token of every call, and tells clients without one where to get it. */
export class Authorizer {
  readonly metadata: ResourceMetadata
  /** Endpoints that need no token. */
  readonly routes: AuthRoutes | undefined
  readonly #check: TokenCheck

  /** @param isTold Whether `servedAt` will be called, which can take the place of `auth.resource`. */
  constructor(options: AuthOptions, sse: boolean | SsePaths | undefined, isTold: boolean) {
    if (options.resource === undefined && !isTold) throw missingResource()
    const { path = '/sse', messagesPath = '/messages' } = typeof sse === 'object' ? sse : {}
    this.routes = options.routes
    this.#check = new TokenCheck(options)
    this.metadata = new ResourceMetadata(options, sse ? { path, messagesPath } : undefined)
  }

  /** Tells the URL that is served, which is the default of `auth.resource`. */
  servedAt(url: string): void {
    this.metadata.servedAt(url)
  }

  /** Returns the call with the identity of its token. Throws a `Refusal` with the challenge. */
  async authorize(call: HttpCall, reportError: (error: unknown) => void): Promise<HttpCall> {
    const head = headOf(call)
    const metadataUrl = this.metadata.urlFor(head)
    const request = this.metadata.toTokenRequest(head)
    const outcome = await this.#check.check(head, { request, metadataUrl, reportError })
    if ('message' in outcome) throw toRefusal(outcome)
    return new AuthorizedCall(call, {
      ...outcome,
      challenge: (scopes) => this.#check.insufficient(outcome.scheme, scopes, metadataUrl),
    })
  }
}

/** Behind a proxy, or on another address than loopback, the public URL is unknown, so the operator has to configure it. */
export function checkResource({ auth, allowedHosts, allowAnyHost }: HttpOptions, host: string): void {
  if (!auth || auth.resource !== undefined || (isLoopbackHost(host) && !allowedHosts && !allowAnyHost)) return
  throw missingResource()
}

function missingResource(): TypeError {
  return new TypeError(
    "auth.resource is required when the server is reachable from other machines. Set it to the public URL, for example 'https://mcp.example.com/mcp'.",
  )
}
