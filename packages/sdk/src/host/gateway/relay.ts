import { HandedOver } from '../../era/call.ts'
import { ErrorCode, ProtocolError, Suspended } from '../../errors.ts'
import type { ResultObject } from '../../jsonrpc/message.ts'
import type { Context } from '../../server/context.ts'
import type { Bus } from '../../store/ports.ts'
import { random } from '../../util/random.ts'
import { scheduler } from '../../util/scheduler.ts'
import type { Host } from '../host.ts'
import type { CallerTable } from './caller-table.ts'
import type { OpenCall } from './open-call.ts'
import { type DrivenCall, listenerOf, RelayedCall } from './relayed-call.ts'
import { isRemote, RemoteCalls } from './remote-calls.ts'
import { ReplayedCall } from './replayed-call.ts'

/** A request to a server, made with the connections of the caller. */
export type RelayedWork<R extends object = object> = (host: Host, call: OpenCall) => Promise<R>

export interface RelayOptions {
  readonly callers: CallerTable
  /** Whether callers share the connection to this server, because every request to it stands alone. */
  standsAlone(server: string): boolean
  /** How long a call waits for a caller that has to repeat its request. */
  readonly parkedMs: number
  /** Connects the nodes of a gateway. */
  readonly bus: Bus | undefined
  onError(error: unknown): void
}

/** How many outcomes wait for callers that did not come back yet. */
const maxKept = 100

/** Passes requests of callers to servers, and questions of servers back to the caller whose request caused them. */
export class Relay {
  readonly #options: RelayOptions
  /** Requests of callers without a session that are not finished, by ticket. */
  readonly #open = new Map<string, { readonly call: RelayedCall; readonly owner: string | undefined }>()
  /** Those of them that have ended, oldest first. */
  readonly #kept = new Set<string>()
  readonly #remote: RemoteCalls | undefined

  constructor(options: RelayOptions) {
    this.#options = options
    const { bus, parkedMs, onError } = options
    const find = (ticket: string, owner: string | undefined) => this.#ownCall(ticket, owner)
    this.#remote = bus && new RemoteCalls({ bus, parkedMs, find, onError })
  }

  /** @param server The id of the server that the work calls. */
  async run<R extends object>(ctx: Context, server: string, work: RelayedWork<R>): Promise<R> {
    const isReplayed = !ctx.remembers(ticketKey) && this.#options.standsAlone(server)
    if (isReplayed) return this.#replay(ctx, server, work)
    if (ReplayedCall.isBegun(ctx)) throw notOpen()
    const call = await this.#find(ctx, server, work)
    const { parkedMs } = this.#options
    const cancel = () => {
      const { reason } = ctx.signal
      // Another process continues the task, and finds the call here.
      if (reason instanceof HandedOver) call.park(parkedMs)
      else call.cancel(reason)
    }
    ctx.signal.addEventListener('abort', cancel, { once: true })
    try {
      // A repeated request finds the call that the same handler began, so it has the same kind of result.
      return (await this.#drive(call, ctx)) as R
    } catch (error) {
      if (error instanceof Suspended) call.park(parkedMs)
      throw error
    } finally {
      ctx.signal.removeEventListener('abort', cancel)
    }
  }

  async #replay<R extends object>(ctx: Context, server: string, work: RelayedWork<R>): Promise<R> {
    const { session, release } = this.#options.callers.acquireUnconnected(ctx)
    const end = session.use()
    try {
      return await work(session.host, new ReplayedCall(ctx, server))
    } finally {
      end()
      release()
    }
  }

  /**
   * Begins a call, or finds the one that an earlier request of this caller began. Beginning it again would make the server do
   * the same work twice.
   */
  async #find(ctx: Context, server: string, work: RelayedWork): Promise<DrivenCall> {
    const isRepeatable = ctx.caller.rules.multiRoundTrip || ctx.task !== undefined
    if (!isRepeatable) return this.#begin(ctx, server, work, '')
    const owner = ctx.request?.principal
    let isNew = false
    // Stored before the call begins: a task that runs again in another process must not begin it again.
    const ticket = await ctx.once(ticketKey, () => {
      isNew = true
      return `${this.#remote?.node ?? ''}/${random.uuid()}`
    })
    if (isNew) {
      const begun = this.#begin(ctx, server, work, ticket)
      if (!begun.ended) this.#open.set(ticket, { call: begun, owner })
      return begun
    }
    const listener = listenerOf(ctx, server)
    const remote = this.#remote && isRemote(ticket, this.#remote.node) ? this.#remote : undefined
    const call = remote ? await remote.attach(ticket, owner, listener) : this.#ownCall(ticket, owner)
    if (!call) throw notOpen()
    if (call instanceof RelayedCall) call.unpark(listener)
    return call
  }

  #ownCall(ticket: string, owner: string | undefined): RelayedCall | undefined {
    const open = this.#open.get(ticket)
    if (open?.owner !== owner) return undefined
    // Its outcome is for the one who asks first.
    if (open?.call.ended) this.#forget(ticket)
    return open?.call
  }

  /** A call that ended before its caller came back: the caller must not have to begin it again. */
  #keep(ticket: string): void {
    const { parkedMs } = this.#options
    this.#kept.add(ticket)
    scheduler.unref(scheduler.setTimeout(() => this.#forget(ticket), parkedMs))
    const [oldest] = this.#kept
    if (oldest !== undefined && this.#kept.size > maxKept) this.#forget(oldest)
  }

  #forget(ticket: string): void {
    this.#kept.delete(ticket)
    this.#open.delete(ticket)
  }

  /** Stops to drive calls of other nodes. */
  async close(): Promise<void> {
    await this.#remote?.close()
  }

  #begin(ctx: Context, server: string, work: RelayedWork, ticket: string): RelayedCall {
    const { session, release } = this.#options.callers.acquire(ctx)
    const call = session.begin({ ticket, server, ctx })
    const done = (isParked: boolean) => {
      session.end(call)
      if (isParked) this.#keep(ticket)
      else this.#forget(ticket)
      release()
    }
    call.start(() => work(session.host, call), done)
    return call
  }

  async #drive(call: DrivenCall, ctx: Context): Promise<object> {
    for (;;) {
      const step = await call.next()
      if ('result' in step) return step.result
      // All at once: a caller that has to repeat its request answers them together.
      await Promise.all(step.questions.map(({ key, request }) => this.#ask(call, key, ctx.ask(request, { key }))))
    }
  }

  /** A caller that cannot answer ends the question, not the call: the server decides what to do then. */
  async #ask(call: DrivenCall, key: string, asked: Promise<ResultObject>): Promise<void> {
    try {
      call.answer(key, await asked)
    } catch (error) {
      if (error instanceof Suspended) throw error
      call.refuse(key, error)
    }
  }
}

const ticketKey = 'call'

function notOpen(): ProtocolError {
  const message = 'The request that this answer belongs to is not open any more. Send it again from the beginning.'
  return new ProtocolError(ErrorCode.InvalidRequest, message)
}
