import { ClosedError, ErrorCode, HttpError, McpError, PeerError } from '../errors.ts'
import type { Link } from '../jsonrpc/link.ts'
import type { ResultObject } from '../jsonrpc/message.ts'
import { parseText } from '../jsonrpc/parse.ts'
import { knownServer, rememberServer } from '../protocol/known-servers.ts'
import type { Revision } from '../protocol/revision.ts'
import { clientTransportOf } from '../protocol/transport.ts'
import { isObject } from '../util/objects.ts'
import { scheduler } from '../util/scheduler.ts'
import type { ClientEra, ClientIdentity, ServerFacts } from './client.ts'
import { HandshakeClient, noCommonRevision } from './handshake/client.ts'
import { readDiscovery, requestMeta, StatelessClient } from './stateless/client.ts'

/** Which request a client sends first to find out what the server speaks. */
export type NegotiationOrder = 'discover-first' | 'handshake-first'

export interface Negotiation {
  readonly identity: ClientIdentity
  /** The revisions that the client supports, newest first. */
  readonly revisions: readonly Revision[]
  /** How long to wait for `server/discover` before `initialize` is sent as well. */
  readonly probeTimeoutMs: number
  /** How long the server may take to answer at all. It may still be installing itself. */
  readonly timeoutMs: number
  readonly order: NegotiationOrder
  /** What is known about the server from before. Nothing is negotiated then. */
  readonly prior?: ServerFacts | undefined
  /** Whether to send `notifications/initialized`. `delivered`: and to wait until the transport has delivered it. */
  readonly announces: boolean | 'delivered'
  /** Cancels the negotiation. */
  readonly signal?: AbortSignal | undefined
  /** Opens a link. Called again if the server exited on the first attempt. */
  open(): Promise<Link>
}

export interface Negotiated {
  readonly link: Link
  readonly era: ClientEra
}

/** Only stateless servers send these errors, so `initialize` would fail too. */
const statelessErrors: ReadonlySet<number> = new Set([
  ErrorCode.HeaderMismatch,
  ErrorCode.MissingClientCapability,
  ErrorCode.UnsupportedProtocolVersion,
])

/** These depend on the caller or on the server's health, so `initialize` would fail too. */
const unrelatedStatuses: ReadonlySet<number> = new Set([401, 403, 407, 413, 429, 500, 502, 503, 504])

/**
 * Finds out which era the server supports (2026-07-28 versioning, backward compatibility). It sends `server/discover` first. A
 * valid result, or an error that only stateless servers send, means stateless. Everything else, including silence and a server
 * that exits, means handshake.
 */
export async function negotiate(negotiation: Negotiation): Promise<Negotiated> {
  const { prior, identity } = negotiation
  if (prior) return resume(await negotiation.open(), prior, identity)
  const negotiated = await chooseEra(negotiation)
  await negotiated.era.begin(negotiated.link, negotiation.announces)
  return negotiated
}

/** Continues with what an earlier connection negotiated. */
function resume(link: Link, facts: ServerFacts, identity: ClientIdentity): Negotiated {
  if (facts.revision.era === 'handshake') {
    const era = new HandshakeClient(facts)
    era.continue(link)
    return { link, era }
  }
  const era = new StatelessClient(facts, identity)
  void era.begin(link)
  return { link, era }
}

async function chooseEra(negotiation: Negotiation): Promise<Negotiated> {
  const link = await negotiation.open()
  const { stateless, handshake } = byEra(negotiation.revisions)
  if (stateless.length === 0 || clientTransportOf(link).handshakeOnly) return initialize(negotiation, link)
  if (negotiation.order === 'handshake-first' && handshake.length > 0) {
    return initializeFirst(negotiation, link, stateless[0]!)
  }
  if (handshake.length > 0 && knownServer(clientTransportOf(link).peerKey)?.era === 'handshake') {
    try {
      return await initialize(negotiation, link)
    } catch (error) {
      if (!isRejection(error)) throw error
      // The server may have been upgraded since, so negotiate from the start.
    }
  }
  const negotiated = await probe(negotiation, link, stateless[0]!)
  remember(negotiated)
  return negotiated
}

/** Sends `initialize`, and `server/discover` only if the server has no handshake. */
async function initializeFirst(negotiation: Negotiation, link: Link, revision: Revision): Promise<Negotiated> {
  try {
    return await initialize(negotiation, link)
  } catch (error) {
    if (!lacksHandshake(error)) throw error
    const { identity } = negotiation
    const discovery = readDiscovery(await discover(negotiation, link, revision).catch(() => ({})))
    if (!discovery?.supported.includes(revision.id)) throw error
    return { link, era: new StatelessClient({ ...discovery.facts, revision }, identity) }
  }
}

/** Whether an error says that the server does not know `initialize`, or only revisions without it. */
function lacksHandshake(error: unknown): boolean {
  const { cause } = (error ?? {}) as { cause?: unknown }
  // A transport may have converted the error.
  const http = [error, cause].find((each) => each instanceof HttpError)
  const { rpcCode, data } = http ? rpcErrorIn(http) : ((error ?? {}) as Partial<PeerError>)
  if (rpcCode === undefined) return error instanceof McpError && cause instanceof PeerError
  return rpcCode === ErrorCode.MethodNotFound || statelessErrors.has(rpcCode) || listsVersions(data)
}

function listsVersions(data: unknown): boolean {
  return isObject(data) && Array.isArray(data.supported)
}

/** The JSON-RPC error in the body of an HTTP error, if the transport reports HTTP errors as they are. */
function rpcErrorIn({ body }: HttpError): Partial<PeerError> {
  const value = body === undefined ? undefined : parseText(body)
  const error = isObject(value) && isObject(value.error) ? value.error : {}
  return typeof error.code === 'number' ? { rpcCode: error.code, data: error.data } : {}
}

async function probe(negotiation: Negotiation, link: Link, revision: Revision): Promise<Negotiated> {
  const discovery = discover(negotiation, link, revision)
  // On HTTP every request gets a response, so there is no need for a second one in parallel.
  if (clientTransportOf(link).readsHeaders) return useDiscovery(negotiation, link, discovery)
  // A server that does not know the method may not answer at all, and a slow one may answer later.
  const first = await orSilence(discovery, negotiation.probeTimeoutMs)
  if (first === 'silence') return initializeOr(negotiation, link, discovery)
  return first.error === undefined ? accept(negotiation, link, first.value!) : fallBack(negotiation, link, first.error)
}

function useDiscovery(negotiation: Negotiation, link: Link, discovery: Promise<ResultObject>): Promise<Negotiated> {
  return discovery.then(
    (result) => accept(negotiation, link, result),
    (error) => fallBack(negotiation, link, error),
  )
}

/** Sends `initialize` while `server/discover` is pending. The first success decides. */
async function initializeOr(negotiation: Negotiation, link: Link, pending: Promise<ResultObject>): Promise<Negotiated> {
  if (byEra(negotiation.revisions).handshake.length === 0) return useDiscovery(negotiation, link, pending)
  let isSettled = false
  const stateless = pending.then((result) => {
    if (isSettled) throw new McpError('invalid-response', 'The response to server/discover came too late')
    return accept(negotiation, link, result)
  })
  const handshake = initialize(negotiation, link)
    // The server may have exited because of `server/discover`. Without it, `initialize` may succeed.
    .catch((error) => (error instanceof ClosedError ? fallBack(negotiation, link, error) : Promise.reject(error)))
    .finally(() => {
      isSettled = true
    })
  return Promise.any([handshake, stateless]).catch((failures: AggregateError) => {
    throw failures.errors[0]
  })
}

async function accept(negotiation: Negotiation, link: Link, result: ResultObject): Promise<Negotiated> {
  const discovery = readDiscovery(result)
  if (!discovery) return initialize(negotiation, link)
  const { stateless } = byEra(negotiation.revisions)
  const revision = stateless.find(({ id }) => discovery.supported.includes(id))
  if (!revision) return chooseSupported(negotiation, link, discovery.supported)
  return { link, era: new StatelessClient({ ...discovery.facts, revision }, negotiation.identity) }
}

async function fallBack(negotiation: Negotiation, link: Link, error: unknown): Promise<Negotiated> {
  if (error instanceof PeerError) {
    const supported = supportedIn(error)
    if (supported) return chooseSupported(negotiation, link, supported)
    if (statelessErrors.has(error.rpcCode)) throw error
    return initialize(negotiation, link)
  }
  if (error instanceof HttpError && isRejection(error)) return initialize(negotiation, link)
  if (!(error instanceof ClosedError) || !clientTransportOf(link).restartable) throw error
  // Some servers exit when they get an unknown request. Start the server again and send `initialize`.
  return initialize(negotiation, await negotiation.open())
}

/** Uses one of the versions that the server listed. */
async function chooseSupported(negotiation: Negotiation, link: Link, supported: string[]): Promise<Negotiated> {
  const common = negotiation.revisions.filter(({ id }) => supported.includes(id))
  const { stateless, handshake } = byEra(common)
  if (stateless[0]) return accept(negotiation, link, await discover(negotiation, link, stateless[0]))
  if (handshake.length > 0) return initialize({ ...negotiation, revisions: handshake }, link)
  throw noCommonRevision(supported.join(', ') || 'none', negotiation.revisions)
}

async function initialize(negotiation: Negotiation, link: Link): Promise<Negotiated> {
  const { identity, timeoutMs, revisions, signal } = negotiation
  const { handshake } = byEra(revisions)
  if (handshake.length === 0) throw noCommonRevision('revisions with a handshake', revisions)
  try {
    return { link, era: await HandshakeClient.open(link, identity, handshake, { timeoutMs, signal }) }
  } catch (error) {
    const supported = error instanceof PeerError ? supportedIn(error) : undefined
    if (!supported) throw error
    const others = handshake.slice(1).filter(({ id }) => supported.includes(id))
    if (others.length === 0) throw noCommonRevision(supported.join(', '), revisions, error)
    return initialize({ ...negotiation, revisions: others }, link)
  }
}

/** Whether the server received the request and rejected it, so that another kind of request may succeed. */
function isRejection(error: unknown): boolean {
  if (error instanceof HttpError) return error.outcome !== 'not-sent' && !unrelatedStatuses.has(error.status ?? 0)
  return error instanceof McpError && (error.code === 'peer' || error.code === 'no-common-revision')
}

function discover({ identity, timeoutMs, signal }: Negotiation, link: Link, revision: Revision): Promise<ResultObject> {
  const params = { _meta: requestMeta(identity, revision) }
  return link.request('server/discover', params, { timeoutMs, maxTotalTimeoutMs: timeoutMs, signal })
}

function byEra(revisions: readonly Revision[]) {
  return {
    stateless: revisions.filter(({ era }) => era === 'stateless'),
    handshake: revisions.filter(({ era }) => era === 'handshake'),
  }
}

/** The versions that an error lists. The error code differs between revisions: -32602 before 2026-07-28. */
function supportedIn(error: PeerError): string[] | undefined {
  const supported = isObject(error.data) ? error.data.supported : undefined
  return Array.isArray(supported) ? supported.filter((version) => typeof version === 'string') : undefined
}

function remember({ link, era }: Negotiated): void {
  const key = clientTransportOf(link).peerKey
  if (key !== undefined) rememberServer(key, { era: era.facts.revision.era })
}

interface Settled {
  value?: ResultObject
  error?: unknown
}

/** Waits until the promise settles, or for `ms`. */
function orSilence(promise: Promise<ResultObject>, ms: number): Promise<Settled | 'silence'> {
  return new Promise((resolve) => {
    const timer = scheduler.setTimeout(() => resolve('silence'), ms)
    const settle = (outcome: Settled) => {
      scheduler.clearTimeout(timer)
      resolve(outcome)
    }
    promise.then(
      (value) => settle({ value }),
      (error) => settle({ error }),
    )
  })
}
