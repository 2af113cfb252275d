import { MODERN_PROTOCOL_VERSION } from '../core/constants.ts'
import { setNegotiatedProtocolVersion } from '../core/protocol.ts'
import type { AuthInfo, ProtocolEra } from '../core/types.ts'
import { McpServer } from './mcp.ts'
import { installDiscover, type Server } from './server.ts'

/** What a factory knows about the request or connection that it builds a server for. */
export interface McpRequestContext {
  era: ProtocolEra
  authInfo?: AuthInfo
  requestInfo?: globalThis.Request
}

/** Builds a server: for each HTTP request, or for each stdio connection. */
export type McpServerFactory = (ctx: McpRequestContext) => McpServer | Server | Promise<McpServer | Server>

/** The revisions without `initialize` that entry points serve. */
export const modernVersions: readonly string[] = [MODERN_PROTOCOL_VERSION]

export function serverOf(product: McpServer | Server): Server {
  return product instanceof McpServer ? product.server : product
}

/** Makes an instance serve one revision without `initialize`. */
export function makeModern(server: Server, revision: string): void {
  setNegotiatedProtocolVersion(server, revision)
  installDiscover(server, modernVersions)
}

export function toError(value: unknown): Error {
  return value instanceof Error ? value : new Error(String(value))
}
