import { isObject } from 'tenon/internal'
import { controlMethods, Link } from 'tenon/jsonrpc'
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  MODERN_PROTOCOL_VERSION,
  PROTOCOL_VERSION_META_KEY,
} from '../core/constants.ts'
import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, UnsupportedProtocolVersionError } from '../core/errors.ts'
import type { ClientCapabilities, DiscoverResult, Implementation } from '../core/types.ts'
import type { LinkPort } from './port.ts'
import { toSdkError } from './to-sdk-error.ts'
import { isModernProtocolVersion, modernRules } from './wire.ts'

/** How `server/discover` is sent to find out what a server speaks. */
export interface VersionNegotiationProbeOptions {
  /** How long to wait for the response. Default: the timeout of `connect`. */
  timeoutMs?: number
  /** How often to send it again after a timeout. Default 0. */
  maxRetries?: number
}

/** `legacy`: only `initialize`; `auto`: `server/discover` first, then `initialize`; `pin`: this revision or none. */
export type VersionNegotiationMode = 'legacy' | 'auto' | { pin: string }

export interface VersionNegotiationOptions {
  /** Default `legacy`. */
  mode?: VersionNegotiationMode
  probe?: VersionNegotiationProbeOptions
}

/** What is known about a server from an earlier connection. */
export type PriorDiscovery = { kind: 'modern'; discover: DiscoverResult } | { kind: 'legacy' }

/** What a probe found out. */
export type Negotiated = { era: 'modern'; version: string; discover: DiscoverResult } | { era: 'legacy' }

/** The revisions of 2026-07-28 and later to ask for, and whether `initialize` may follow. */
export interface Offer {
  readonly versions: readonly string[]
  readonly pinned: string | undefined
  readonly hasFallback: boolean
  readonly probe: VersionNegotiationProbeOptions
}

/** Returns the offer of a client; undefined if it only uses `initialize`. */
export function readOffer(
  options: VersionNegotiationOptions | undefined,
  supported: readonly string[] | undefined,
): Offer | undefined {
  const { mode = 'legacy', probe = {} } = options ?? {}
  if (mode === 'legacy') return undefined
  if (typeof mode === 'object') {
    if (!isModernProtocolVersion(mode.pin)) {
      throw new TypeError(
        `versionNegotiation: { pin: '${mode.pin}' } is not a modern protocol revision: pinning is for 2026-07-28 and later. Omit versionNegotiation for servers with "initialize".`,
      )
    }
    return { versions: [mode.pin], pinned: mode.pin, hasFallback: false, probe }
  }
  const hasFallback = supported?.some((version) => !isModernProtocolVersion(version)) ?? true
  return { versions: modernVersions(supported), pinned: undefined, hasFallback, probe }
}

/** The revisions of 2026-07-28 and later that a client supports. */
export function modernVersions(supported: readonly string[] | undefined): readonly string[] {
  const named = supported?.filter(isModernProtocolVersion) ?? []
  return named.length > 0 ? named : [MODERN_PROTOCOL_VERSION]
}

export interface Probe {
  readonly offer: Offer
  readonly port: LinkPort
  readonly clientInfo: Implementation
  readonly capabilities: ClientCapabilities
  readonly timeoutMs: number
  /** Over stdio, a server that does not answer or exits does not know `server/discover`. */
  readonly isStdio: boolean
  /** Whether the process was started for the probe alone, so that its end does not matter. */
  readonly isDisposable: boolean
}

/** Sends `server/discover` until it is clear what the server speaks. */
export async function probe(options: Probe): Promise<Negotiated> {
  const { offer, port } = options
  const link = new Link(port, {
    methods: controlMethods,
    request: (exchange) => exchange.cancel('The revision is not negotiated yet'),
    notification: () => {},
    unmatched: () => {},
    error: () => {},
  })
  link.answersFaults = false
  await link.open()
  let version = offer.versions[0] ?? MODERN_PROTOCOL_VERSION
  let retries = Math.max(0, offer.probe.maxRetries ?? 0)
  let isCorrected = false
  for (;;) {
    const outcome = await discover(link, version, options)
    if (outcome.kind === 'timeout' && retries-- > 0) continue
    const verdict = judge(outcome, version, options)
    if (verdict.kind === 'found') return verdict.found
    if (verdict.kind === 'failed' || isCorrected) throw verdict.error
    isCorrected = true
    version = verdict.version
  }
}

type Outcome =
  | { kind: 'result'; result: unknown }
  | { kind: 'rpc-error'; error: RpcError }
  | { kind: 'http-error'; error: SdkHttpError }
  | { kind: 'timeout'; timeoutMs: number }
  | { kind: 'closed' }
  | { kind: 'failed'; error: unknown }

type RpcError = { code: number; message: string; data?: unknown }

type Verdict =
  | { kind: 'found'; found: Negotiated }
  | { kind: 'retry'; version: string; error: Error }
  | { kind: 'failed'; error: Error }

async function discover(link: Link, version: string, probed: Probe): Promise<Outcome> {
  const { offer, clientInfo, capabilities, timeoutMs: defaultMs } = probed
  const timeoutMs = offer.probe.timeoutMs ?? defaultMs
  const _meta = {
    [PROTOCOL_VERSION_META_KEY]: version,
    [CLIENT_INFO_META_KEY]: clientInfo,
    [CLIENT_CAPABILITIES_META_KEY]: capabilities,
  }
  try {
    return {
      kind: 'result',
      result: await link.request('server/discover', { _meta }, { timeoutMs, maxTotalTimeoutMs: 0 }),
    }
  } catch (cause) {
    const error = toSdkError(cause, { timeout: timeoutMs })
    if (error instanceof ProtocolError) return { kind: 'rpc-error', error }
    if (error instanceof SdkHttpError) return { kind: 'http-error', error }
    if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) return { kind: 'timeout', timeoutMs }
    if (error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed) return { kind: 'closed' }
    return { kind: 'failed', error }
  }
}

function judge(outcome: Outcome, version: string, probed: Probe): Verdict {
  switch (outcome.kind) {
    case 'result':
      return judgeResult(outcome.result, version, probed)
    case 'rpc-error':
      return judgeRpcError(outcome.error, version, probed)
    case 'http-error':
      return judgeHttpError(outcome.error, version, probed)
    case 'timeout':
      return probed.isStdio ? isLegacy(probed) : failed(timedOut(outcome.timeoutMs))
    case 'closed':
      return probed.isStdio ? closedByServer(probed) : unreachable(new Error('the connection was closed'))
    case 'failed':
      return unreachable(outcome.error)
  }
}

function judgeResult(result: unknown, requested: string, probed: Probe): Verdict {
  const { versions, hasFallback } = probed.offer
  const checked = modernRules.checkResult('server/discover', result)
  if (!checked?.ok) return isLegacy(probed)
  const { resultType: _resultType, ...found } = checked.value as DiscoverResult
  const version = versions.find((each) => found.supportedVersions.includes(each))
  if (version !== undefined) return { kind: 'found', found: { era: 'modern', version, discover: found } }
  if (hasFallback) return { kind: 'found', found: { era: 'legacy' } }
  return failed(new UnsupportedProtocolVersionError({ supported: [...found.supportedVersions], requested }))
}

function judgeRpcError({ code, message, data }: RpcError, requested: string, probed: Probe): Verdict {
  const supported = code === -32022 && isObject(data) ? readVersions(data.supported) : undefined
  if (!supported) return isLegacy(probed)
  const { versions, hasFallback } = probed.offer
  const named = isObject(data) && typeof data.requested === 'string' ? data.requested : requested
  const error = new UnsupportedProtocolVersionError({ supported, requested: named }, message)
  const modern = supported.filter(isModernProtocolVersion)
  const version = versions.find((each) => modern.includes(each))
  if (version !== undefined) return { kind: 'retry', version, error }
  return modern.length === 0 && hasFallback ? { kind: 'found', found: { era: 'legacy' } } : failed(error)
}

function judgeHttpError(error: SdkHttpError, requested: string, probed: Probe): Verdict {
  const { status, data } = error
  const isAuth = status === 401 || status === 403
  if (isAuth && error.code !== SdkErrorCode.ClientHttpNotImplemented) return failed(error)
  if (isAuth) {
    const code = status === 403 ? SdkErrorCode.ClientHttpForbidden : SdkErrorCode.ClientHttpAuthentication
    const what = status === 403 ? 'denied access (HTTP 403)' : 'requires authorization (HTTP 401)'
    return failed(new SdkHttpError(code, `Version negotiation failed: the server ${what}`, data))
  }
  if (status >= 500) {
    const what = `Version negotiation failed: the server answered the probe with HTTP ${status}`
    return failed(new SdkHttpError(SdkErrorCode.EraNegotiationFailed, what, data))
  }
  const rpcError = readRpcError(data.text)
  return rpcError ? judgeRpcError(rpcError, requested, probed) : isLegacy(probed)
}

/** The server does not know `server/discover`. */
function isLegacy({ offer }: Probe, closed?: string): Verdict {
  const { pinned, hasFallback } = offer
  if (pinned !== undefined) {
    return negotiationFailed(
      closed === undefined
        ? `the server did not offer pinned protocol version ${pinned} via server/discover (no fallback in pin mode)`
        : `${closed} before the server offered pinned protocol version ${pinned} (no fallback in pin mode)`,
    )
  }
  if (hasFallback) return { kind: 'found', found: { era: 'legacy' } }
  const what = closed ?? 'the server gave no modern evidence'
  return negotiationFailed(`${what} and this client supports no pre-2026-07-28 protocol version to fall back to`)
}

function closedByServer(probed: Probe): Verdict {
  const closed = 'the connection closed during the server/discover probe'
  const verdict = isLegacy(probed, closed)
  return verdict.kind === 'found' && !probed.isDisposable ? negotiationFailed(closed) : verdict
}

/** Errors of authorization and of programs say more than that the probe failed. */
function unreachable(error: unknown): Verdict {
  if (error instanceof Error && (error.name === 'UnauthorizedError' || isAuthOutcome(error))) return failed(error)
  const what = error instanceof Error ? error.message : String(error)
  const cause = { cause: error }
  return failed(new SdkError(SdkErrorCode.EraNegotiationFailed, `Version negotiation probe failed: ${what}`, cause))
}

function isAuthOutcome({ name }: Error): boolean {
  return /^(OAuth|Insufficient|Issuer|Insecure|Registration|Authorization|Auth)\w*Error$/.test(name)
}

function negotiationFailed(what: string): Verdict {
  return failed(new SdkError(SdkErrorCode.EraNegotiationFailed, `Version negotiation failed: ${what}`))
}

function timedOut(timeoutMs: number): Error {
  const what = `Version negotiation probe timed out after ${timeoutMs}ms`
  return new SdkError(SdkErrorCode.RequestTimeout, what, { timeout: timeoutMs })
}

function failed(error: Error): Verdict {
  return { kind: 'failed', error }
}

function readVersions(value: unknown): string[] | undefined {
  const isList = Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === 'string')
  return isList ? value : undefined
}

function readRpcError(text: unknown): RpcError | undefined {
  if (typeof text !== 'string') return undefined
  try {
    const { error } = JSON.parse(text)
    if (!isObject(error) || typeof error.code !== 'number') return undefined
    return { code: error.code, message: String(error.message ?? ''), data: error.data }
  } catch {
    return undefined
  }
}
