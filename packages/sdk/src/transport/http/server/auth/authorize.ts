import type { AuthRoutes } from '../../../../auth/server/call.ts'
import type { HttpCall } from '../call.ts'
import type { AuthOptions, SsePaths, TokenRequest } from '../options.ts'
import { AuthorizedCall } from './authorized-call.ts'
import { ResourceMetadata } from './metadata.ts'
import { TokenCheck } from './token-check.ts'

/** Lets calls in that present a token for this server, and tells the others where to get one. */
export class Authorizer {
  readonly metadata: ResourceMetadata
  /** Endpoints that need no token. */
  readonly routes: AuthRoutes | undefined
  readonly #check: TokenCheck

  /** @param isTold Whether `servedAt` will be called, which can take the place of `auth.resource`. */
  constructor(options: AuthOptions, sse: boolean | SsePaths | undefined, isTold: boolean) {
    if (options.resource === undefined && !isTold) {
      throw new TypeError(
        "auth.resource is missing: the URL of this server as clients know it, such as 'https://a.example/mcp'",
      )
    }
    const { path = '/sse', messagesPath = '/messages' } = typeof sse === 'object' ? sse : {}
    this.routes = options.routes
    this.#check = new TokenCheck(options)
    this.metadata = new ResourceMetadata(options, sse ? { path, messagesPath } : undefined)
  }

  servedAt(url: string): void {
    this.metadata.servedAt(url)
  }

  /** The call with what its token says of the caller; throws a `Refusal` with the challenge. */
  async authorize(call: HttpCall, reportError: (error: unknown) => void): Promise<HttpCall> {
    const where = this.metadata.urlFor(call)
    const verified = await this.#check.check(call, this.#toTokenRequest(call), where, reportError)
    return new AuthorizedCall(call, {
      ...verified,
      challenge: (scopes) => this.#check.insufficient(verified.scheme, scopes, where),
    })
  }

  #toTokenRequest(call: HttpCall): TokenRequest {
    const { metadata } = this
    return {
      method: call.method,
      get urls() {
        return metadata.urlsOf(call)
      },
      header: (name) => call.request.header(name),
      isFor: (audience) => metadata.isFor(audience),
    }
  }
}
