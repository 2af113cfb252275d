import { isObject } from '../../../../util/objects.ts'
import type { CallRequest, Refusal } from '../call.ts'
import type { RawHttpOptions } from './options.ts'
import {
  bothTypesRequired,
  eventStreamRequired,
  foreignHost,
  foreignOrigin,
  jsonRequired,
  missingSessionId,
  notFound,
  notInitialized,
  unsupportedVersion,
} from './refusals.ts'

/** Returns the refusal for a request whose `Host` or `Origin` is not allowed. */
export function originProblem(
  { allowedHosts, allowedOrigins }: RawHttpOptions,
  request: CallRequest,
): Refusal | undefined {
  const host = request.header('host')
  if (isLimited(allowedHosts) && !allowedHosts.includes(host ?? '')) return foreignHost(host)
  const origin = request.header('origin')
  if (origin && isLimited(allowedOrigins) && !allowedOrigins.includes(origin)) return foreignOrigin(origin)
  return undefined
}

function isLimited(allowed: readonly string[] | undefined): allowed is readonly string[] {
  return allowed !== undefined && allowed.length > 0
}

/** Returns the refusal for a POST with the wrong types. */
export function postTypeProblem(request: CallRequest): Refusal | undefined {
  const accept = request.header('accept') ?? ''
  if (!accept.includes('application/json') || !accept.includes('text/event-stream')) return bothTypesRequired()
  const type = request.header('content-type') ?? ''
  const isJson = type === 'application/json' || /^[ \t]*application\/json[ \t]*(?:;|$)/i.test(type)
  return isJson ? undefined : jsonRequired()
}

/** Returns the refusal for a GET that does not accept events. */
export function getTypeProblem(request: CallRequest): Refusal | undefined {
  return request.header('accept')?.includes('text/event-stream') ? undefined : eventStreamRequired()
}

/** What is known about the session of a transport. */
export interface SessionState {
  readonly isInitialized: boolean
  readonly sessionId: string | undefined
}

/** Returns the refusal for a request that does not belong to the session. */
export function sessionProblem({ isInitialized, sessionId }: SessionState, request: CallRequest): Refusal | undefined {
  if (!isInitialized) return notInitialized()
  const stated = request.header('mcp-session-id')
  if (!stated) return missingSessionId()
  return stated === sessionId ? undefined : notFound()
}

/** Returns the refusal for a version header that names an unsupported version. */
export function versionProblem(supported: readonly string[], version: string | undefined): Refusal | undefined {
  return version === undefined || supported.includes(version) ? undefined : unsupportedVersion(version, supported)
}

/** Whether a message opens a session. A malformed one does not. */
export function opensSession(value: unknown): value is { params: { protocolVersion: string } } {
  if (!isObject(value) || value.method !== 'initialize' || value.id === undefined || !isObject(value.params))
    return false
  const { protocolVersion, capabilities, clientInfo } = value.params
  return typeof protocolVersion === 'string' && isObject(capabilities) && isObject(clientInfo)
}
