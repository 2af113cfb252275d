import { ProtocolError, RpcCode } from '../errors.ts'
import { isObject, type JsonObject } from '../util/objects.ts'
import type { ClientCapabilities, Implementation } from './capabilities.ts'
import { type LoggingLevel, loggingLevels } from './log-level.ts'
import { metaKeys } from './meta.ts'
import { id, mustBe, optionalObject } from './value-checks.ts'

/** The members of `_meta` that describe the caller of a stateless request, besides the version. */
export interface CallerMeta {
  readonly [metaKeys.clientCapabilities]: ClientCapabilities
  readonly [metaKeys.clientInfo]?: Implementation | undefined
  readonly [metaKeys.logLevel]?: LoggingLevel | undefined
}

/** Describes what is wrong with the `_meta` of a request in any revision; undefined if nothing is. */
export function requestMetaProblem({ _meta }: Readonly<Record<string, unknown>>): string | undefined {
  if (_meta === undefined) return undefined
  if (!isObject(_meta)) return mustBe('params._meta', 'an object', _meta)
  const token = _meta.progressToken
  return token === undefined ? undefined : id(token, 'params._meta.progressToken')
}

/** The same for a notification, in which a progress token has no meaning. */
export function notificationMetaProblem({ _meta }: Readonly<Record<string, unknown>>): string | undefined {
  return optionalObject(_meta, 'params._meta')
}

/** Throws the error response if `_meta` does not describe the caller (2026-07-28 basic). */
export function checkCallerMeta(meta: JsonObject): asserts meta is JsonObject & CallerMeta {
  const problem = capabilitiesProblem(meta) ?? logLevelProblem(meta) ?? clientInfoProblem(meta)
  if (problem !== undefined) throw new ProtocolError(RpcCode.InvalidParams, problem)
}

export const invalidVersion = /* @__PURE__ */ memberMustBe(metaKeys.protocolVersion, 'a string')

export function capabilitiesProblem(meta: JsonObject): string | undefined {
  return isObject(meta[metaKeys.clientCapabilities])
    ? undefined
    : memberMustBe(metaKeys.clientCapabilities, 'an object')
}

function logLevelProblem(meta: JsonObject): string | undefined {
  const level = meta[metaKeys.logLevel]
  if (level === undefined || loggingLevels.some((known) => known === level)) return undefined
  return memberMustBe(metaKeys.logLevel, `one of ${loggingLevels.join(', ')}`)
}

function clientInfoProblem(meta: JsonObject): string | undefined {
  const info = meta[metaKeys.clientInfo]
  if (info === undefined) return undefined
  const isValid = isObject(info) && typeof info.name === 'string' && typeof info.version === 'string'
  return isValid ? undefined : memberMustBe(metaKeys.clientInfo, 'an object with a name and a version')
}

function memberMustBe(key: string, type: string): string {
  return `params._meta["${key}"] must be ${type}`
}
