import { type BrokerCore, createBroker } from '../../../../auth/broker/broker.ts'
import type { BrokerOptions } from '../../../../auth/broker/options.ts'
import type { AuthRoutes } from '../../../../auth/server/call.ts'
import { NodeCall } from '../node.ts'
import type { AuthOptions } from '../options.ts'
import { routesFetch, routesMiddleware } from './auth-routes.ts'
import { pathOf, ResourceMetadata } from './metadata.ts'
import type { NodeMiddleware } from './middleware.ts'

/** Fits `auth` of `serveHttp` and `createMcpHandler` as it is, and brings its endpoints with it. */
export interface Broker extends AuthOptions, Pick<BrokerCore, 'upstreamToken' | 'callbackUrl'> {
  readonly routes: AuthRoutes
  /** Its endpoints and the metadata, for Express and its like: `app.use(auth.node)`, at the root. */
  readonly node: NodeMiddleware
  /** Its endpoints, for runtimes with `fetch`; 404 for everything else. `createMcpHandler` has them already. */
  fetch(request: Request): Promise<Response>
}

/**
 * An authorization server in front of an identity provider that knows one client only (GitHub, Google, Entra, Okta, ...).
 * MCP clients register here; people see who asks, agree, and sign in at the provider. Clients get tokens of ours, and never
 * those of the provider, which `upstreamToken` gives to handlers.
 *
 * @example
 * const auth = broker({ resource, upstream: providers.github({ clientId, clientSecret }), scopes: { notes: 'Read your notes' } })
 * await serveHttp(server, { auth })
 */
export function broker(options: BrokerOptions): Broker {
  const core = createBroker(options)
  const metadata = new ResourceMetadata(core, undefined)
  const middleware = routesMiddleware(core.routes)
  return {
    ...core,
    node: (request, response, next) => {
      const call = new NodeCall(request, response)
      if (metadata.handles(pathOf(call))) metadata.answer(call)
      else middleware(request, response, next)
    },
    fetch: (request) => routesFetch(core.routes, request),
  }
}
