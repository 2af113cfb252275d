import { ClosedError, HttpError, McpError, PeerError, RpcCode } from '../errors.ts'
import type { Link } from '../jsonrpc/link.ts'
import type { ResultObject } from '../jsonrpc/message.ts'
import type { Revision } from '../protocol/revision.ts'
import { isObject } from '../util/objects.ts'
import type { ClientEra, ClientIdentity } from './client.ts'
import { HandshakeClient, noCommonRevision } from './handshake/client.ts'
import { knownEra, rememberEra } from './known-eras.ts'
import { readDiscovery, requestMeta, StatelessClient } from './stateless/client.ts'

export interface Negotiation {
  readonly identity: ClientIdentity
  /** Those we can speak, newest first. */
  readonly revisions: readonly Revision[]
  /** How long a server may be silent before it is taken for one that does not know discovery. */
  readonly probeTimeoutMs: number
  /** How long the server may take to answer at all: it may still be installing itself. */
  readonly timeoutMs: number
  /** Opens a link, and opens another when the first attempt killed the server. */
  open(): Promise<Link>
}

export interface Negotiated {
  readonly link: Link
  readonly era: ClientEra
}

/** Only a modern server says these, so there is no handshake to fall back to. */
const modernErrors: ReadonlySet<number> = new Set([
  RpcCode.HeaderMismatch,
  RpcCode.MissingClientCapability,
  RpcCode.UnsupportedProtocolVersion,
])

/** These are about who asks, or about the server's health; asking in another way would not help. */
const unrelatedStatuses: ReadonlySet<number> = new Set([401, 403, 407, 413, 429, 502, 503, 504])

/**
 * Finds out what the server speaks (2026-07-28 versioning, backward compatibility): `server/discover` first; a discover
 * result or a modern error means modern; anything else, silence and even a dead server mean a handshake.
 */
export async function negotiate(negotiation: Negotiation): Promise<Negotiated> {
  const negotiated = await findOut(negotiation)
  negotiated.era.begin(negotiated.link)
  return negotiated
}

async function findOut(negotiation: Negotiation): Promise<Negotiated> {
  const link = await negotiation.open()
  const { modern, legacy } = split(negotiation.revisions)
  if (modern.length === 0 || link.transport.handshakeOnly) return shakeHands(negotiation, link)
  if (legacy.length > 0 && knownEra(link.transport.peerKey) === 'handshake') {
    try {
      return await shakeHands(negotiation, link)
    } catch (error) {
      if (!isRefusal(error)) throw error
      // What we knew no longer holds: find out anew.
    }
  }
  const negotiated = await probe(negotiation, link, modern[0]!)
  remember(negotiated)
  return negotiated
}

async function probe(negotiation: Negotiation, link: Link, revision: Revision): Promise<Negotiated> {
  const answer = discover(negotiation, link, revision)
  // On HTTP every request gets an answer of its own, and a second question would only double the work.
  if (link.transport.readsHeaders) return takeAnswer(negotiation, link, answer)
  // A server may take its time, or not know the method and say nothing: wait a little, but keep listening.
  const first = await orSilence(answer, negotiation.probeTimeoutMs)
  if (first === 'silence') return shakeHandsOr(negotiation, link, answer)
  return first.error === undefined ? accept(negotiation, link, first.value!) : fallBack(negotiation, link, first.error)
}

function takeAnswer(negotiation: Negotiation, link: Link, answer: Promise<ResultObject>): Promise<Negotiated> {
  return answer.then(
    (result) => accept(negotiation, link, result),
    (error) => fallBack(negotiation, link, error),
  )
}

/** Both questions are out; the first useful answer decides. */
async function shakeHandsOr(negotiation: Negotiation, link: Link, late: Promise<ResultObject>): Promise<Negotiated> {
  if (split(negotiation.revisions).legacy.length === 0) return takeAnswer(negotiation, link, late)
  let isSettled = false
  const modern = late.then((result) => {
    if (isSettled) throw new McpError('invalid-response', 'The answer to discovery came too late')
    return accept(negotiation, link, result)
  })
  const handshake = shakeHands(negotiation, link)
    // It died of the first question; asked only for a handshake it may live.
    .catch((error) => (error instanceof ClosedError ? fallBack(negotiation, link, error) : Promise.reject(error)))
    .finally(() => {
      isSettled = true
    })
  return Promise.any([handshake, modern]).catch((failures: AggregateError) => {
    throw failures.errors[0]
  })
}

async function accept(negotiation: Negotiation, link: Link, result: ResultObject): Promise<Negotiated> {
  const discovery = readDiscovery(result)
  if (!discovery) return shakeHands(negotiation, link)
  const { modern } = split(negotiation.revisions)
  const revision = modern.find(({ id }) => discovery.supported.includes(id))
  if (!revision) return chooseOther(negotiation, link, discovery.supported)
  return { link, era: new StatelessClient({ ...discovery.facts, revision }, negotiation.identity) }
}

async function fallBack(negotiation: Negotiation, link: Link, error: unknown): Promise<Negotiated> {
  if (error instanceof PeerError) {
    const supported = supportedIn(error)
    if (supported) return chooseOther(negotiation, link, supported)
    if (modernErrors.has(error.rpcCode)) throw error
    return shakeHands(negotiation, link)
  }
  if (error instanceof HttpError && isRefusal(error)) return shakeHands(negotiation, link)
  if (!(error instanceof ClosedError) || !link.transport.restartable) throw error
  // Some servers die of a request they do not know. Start it again and greet it the old way.
  return shakeHands(negotiation, await negotiation.open())
}

/** The server named its versions: take one of them, never guess. */
async function chooseOther(negotiation: Negotiation, link: Link, supported: string[]): Promise<Negotiated> {
  const common = negotiation.revisions.filter(({ id }) => supported.includes(id))
  const { modern, legacy } = split(common)
  if (modern[0]) return accept(negotiation, link, await discover(negotiation, link, modern[0]))
  if (legacy.length > 0) return shakeHands({ ...negotiation, revisions: legacy }, link)
  throw noCommonRevision(supported.join(', ') || 'no version it names', negotiation.revisions)
}

async function shakeHands(negotiation: Negotiation, link: Link): Promise<Negotiated> {
  const { identity, timeoutMs, revisions } = negotiation
  const { legacy } = split(revisions)
  if (legacy.length === 0) throw noCommonRevision('an older protocol', revisions)
  try {
    return { link, era: await HandshakeClient.open(link, identity, legacy, { timeoutMs }) }
  } catch (error) {
    const supported = error instanceof PeerError ? supportedIn(error) : undefined
    if (!supported) throw error
    const others = legacy.slice(1).filter(({ id }) => supported.includes(id))
    if (others.length === 0) throw noCommonRevision(supported.join(', '), revisions)
    return shakeHands({ ...negotiation, revisions: others }, link)
  }
}

/** The server was there and would not have it this way; another way may do. */
function isRefusal(error: unknown): boolean {
  if (error instanceof HttpError) return error.outcome !== 'not-sent' && !unrelatedStatuses.has(error.status ?? 0)
  return error instanceof McpError && (error.code === 'peer' || error.code === 'no-common-revision')
}

function discover({ identity, timeoutMs }: Negotiation, link: Link, revision: Revision): Promise<ResultObject> {
  const params = { _meta: requestMeta(identity, revision) }
  return link.request('server/discover', params, { timeoutMs, maxTotalTimeoutMs: timeoutMs })
}

function split(revisions: readonly Revision[]) {
  return {
    modern: revisions.filter(({ era }) => era === 'stateless'),
    legacy: revisions.filter(({ era }) => era === 'handshake'),
  }
}

/** A refusal that names the server's versions, whatever its number: the older revisions use -32602 for it. */
function supportedIn(error: PeerError): string[] | undefined {
  const supported = isObject(error.data) ? error.data.supported : undefined
  return Array.isArray(supported) ? supported.filter((version) => typeof version === 'string') : undefined
}

function remember({ link, era }: Negotiated): void {
  const key = link.transport.peerKey
  if (key !== undefined) rememberEra(key, era.facts.revision.era)
}

interface Settled {
  value?: ResultObject
  error?: unknown
}

/** How the promise settled, or that it did not in time; then it goes on. */
function orSilence(promise: Promise<ResultObject>, ms: number): Promise<Settled | 'silence'> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve('silence'), ms)
    const settle = (outcome: Settled) => {
      clearTimeout(timer)
      resolve(outcome)
    }
    promise.then(
      (value) => settle({ value }),
      (error) => settle({ error }),
    )
  })
}
