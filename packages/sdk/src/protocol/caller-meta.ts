import { ProtocolError, RpcCode } from '../errors.ts'
import { isObject, type JsonObject } from '../util/objects.ts'
import type { ClientCapabilities, Implementation } from './capabilities.ts'
import { type LoggingLevel, loggingLevels } from './log-level.ts'
import { metaKeys } from './meta.ts'

/** The members of `_meta` that describe the caller of a stateless request, besides the version. */
export interface CallerMeta {
  readonly [metaKeys.clientCapabilities]: ClientCapabilities
  readonly [metaKeys.clientInfo]?: Implementation | undefined
  readonly [metaKeys.logLevel]?: LoggingLevel | undefined
}

/** Throws the error response if `_meta` does not describe the caller (2026-07-28 basic). */
export function checkCallerMeta(meta: JsonObject): asserts meta is JsonObject & CallerMeta {
  const problem = capabilitiesProblem(meta) ?? logLevelProblem(meta) ?? clientInfoProblem(meta)
  if (problem !== undefined) throw new ProtocolError(RpcCode.InvalidParams, problem)
}

export const invalidVersion = mustBe(metaKeys.protocolVersion, 'a string')

export function capabilitiesProblem(meta: JsonObject): string | undefined {
  return isObject(meta[metaKeys.clientCapabilities]) ? undefined : mustBe(metaKeys.clientCapabilities, 'an object')
}

function logLevelProblem(meta: JsonObject): string | undefined {
  const level = meta[metaKeys.logLevel]
  if (level === undefined || loggingLevels.some((known) => known === level)) return undefined
  return mustBe(metaKeys.logLevel, `one of ${loggingLevels.join(', ')}`)
}

function clientInfoProblem(meta: JsonObject): string | undefined {
  const info = meta[metaKeys.clientInfo]
  if (info === undefined) return undefined
  const isValid = isObject(info) && typeof info.name === 'string' && typeof info.version === 'string'
  return isValid ? undefined : mustBe(metaKeys.clientInfo, 'an object with a name and a version')
}

function mustBe(key: string, type: string): string {
  return `params._meta["${key}"] must be ${type}`
}
