import {
  createMcpHandler as createPlainHandler,
  type HttpOptions,
  type McpHandler,
  type McpServerOptions,
  type Middleware,
  McpServer as PlainServer,
  type ServeHttpOptions,
  Server,
  type ServingHttp,
  serveHttp as servePlain,
} from '../../src/entry/server.ts'
import { createGateway } from '../../src/host/gateway/gateway.ts'
import { Host } from '../../src/host/host.ts'
import { HostParts } from '../../src/host/host-parts.ts'
import { HostState } from '../../src/host/host-store.ts'
import type { Implementation } from '../../src/protocol/capabilities.ts'
import { allowAll } from '../host/support.ts'

// Replaces `tenon/server` in tests that run a second time: whatever they serve over HTTP is behind a gateway.
export * from '../../src/entry/server.ts'

const optionsOf = new WeakMap<PlainServer, McpServerOptions>()

/** Remembers its options, because the gateway in front gets some of them. */
export class McpServer extends PlainServer {
  constructor(info: Implementation, options: McpServerOptions = {}) {
    super(info, options)
    optionsOf.set(this, options)
  }
}

export async function serveHttp(server: PlainServer | Server, options?: ServeHttpOptions): Promise<ServingHttp> {
  const { gateway, host } = putBehindGateway(server)
  const http = await servePlain(gateway, options)
  const closeHttp = http.close
  const close = async () => {
    await closeHttp()
    await host?.close()
  }
  return Object.defineProperties(http, { close: { value: close }, [Symbol.asyncDispose]: { value: close } })
}

export function createMcpHandler(server: PlainServer | Server, options?: HttpOptions): McpHandler {
  const { gateway, host } = putBehindGateway(server)
  const handler = createPlainHandler(gateway, options)
  const closeHandler = handler.close
  const close = async (graceMs?: number) => {
    await closeHandler(graceMs)
    await host?.close()
  }
  return Object.defineProperties(handler, { close: { value: close } })
}

/** Limits that servers do not have: the tests send larger results, and arguments that the schemas do not name. */
const limits = { maxResultBytes: 1024 ** 3, strictArguments: false }

/** `createHost` is asynchronous, because it may read files; `createMcpHandler` is not. */
function putBehindGateway(server: PlainServer | Server): { gateway: Server; host?: Host } {
  if (server instanceof Server) return { gateway: server }
  const { limits: serverLimits, stateKey, onError, instructions, revisions } = optionsOf.get(server) ?? {}
  const opened = { servers: { server: { server, prefix: false } }, state: HostState.inMemory(), audit: undefined }
  // Some of these tests need responses that are larger than what a gateway inspects.
  const policy = [{ kind: 'result', finding: 'not-inspected', decide: 'allow' } as const, ...allowAll]
  const parts = new HostParts({ servers: opened.servers, policy, limits }, opened)
  const host = new Host(parts, {})
  const gateway = createGateway(host, { server: { limits: serverLimits, stateKey, onError, instructions, revisions } })
  return { gateway: gateway.use(answerAboutCaller), host }
}

/** Answers the tools of `workshop` that say who calls: the server behind the gateway sees only the gateway. */
const answerAboutCaller: Middleware = ({ method, params, ctx }, next) => {
  if (method !== 'tools/call' || (params.name !== 'session' && params.name !== 'revision')) return next()
  const text = params.name === 'session' ? (ctx.sessionId ?? 'none') : ctx.caller.revision
  return { content: [{ type: 'text', text }] }
}
