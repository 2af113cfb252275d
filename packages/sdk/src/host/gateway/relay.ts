import { ErrorCode, ProtocolError, Suspended } from '../../errors.ts'
import type { ResultObject } from '../../jsonrpc/message.ts'
import type { Context } from '../../server/context.ts'
import { random } from '../../util/random.ts'
import type { Host } from '../host.ts'
import type { CallerTable } from './caller-table.ts'
import type { OpenCall } from './open-call.ts'
import type { RelayedCall } from './relayed-call.ts'
import { ReplayedCall } from './replayed-call.ts'

/** A request to a server, made with the connections of the caller. */
export type RelayedWork<R extends object = object> = (host: Host, call: OpenCall) => Promise<R>

export interface RelayOptions {
  readonly host: Host
  readonly callers: CallerTable
  /** How long a call waits for a caller that has to repeat its request. */
  readonly parkedMs: number
}

/** Passes requests of callers to servers, and questions of servers back to the caller whose request caused them. */
export class Relay {
  readonly #options: RelayOptions
  /** Requests of callers without a session that are not finished, by ticket. */
  readonly #open = new Map<string, { readonly call: RelayedCall; readonly owner: string | undefined }>()

  constructor(options: RelayOptions) {
    this.#options = options
  }

  /** @param server The id of the server that the work calls. */
  async run<R extends object>(ctx: Context, server: string, work: RelayedWork<R>): Promise<R> {
    const isReplayed = !ctx.remembers(ticketKey) && this.#options.host.standsAlone(server)
    if (isReplayed) return this.#replay(ctx, server, work)
    if (ReplayedCall.isBegun(ctx)) throw notOpen()
    const call = await this.#find(ctx, server, work)
    const cancel = () => call.cancel(ctx.signal.reason)
    ctx.signal.addEventListener('abort', cancel, { once: true })
    try {
      // A repeated request finds the call that the same handler began, so it has the same kind of result.
      return (await this.#drive(call, ctx)) as R
    } catch (error) {
      if (error instanceof Suspended) call.park(this.#options.parkedMs)
      throw error
    } finally {
      ctx.signal.removeEventListener('abort', cancel)
    }
  }

  async #replay<R extends object>(ctx: Context, server: string, work: RelayedWork<R>): Promise<R> {
    const { session, release } = this.#options.callers.acquire(ctx)
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
  async #find(ctx: Context, server: string, work: RelayedWork): Promise<RelayedCall> {
    const isRepeatable = ctx.caller.rules.multiRoundTrip || ctx.task !== undefined
    if (!isRepeatable) return this.#begin(ctx, server, work, '')
    const owner = ctx.request?.principal
    let isNew = false
    // Stored before the call begins: a task that runs again in another process must not begin it again.
    const ticket = await ctx.once(ticketKey, () => {
      isNew = true
      return random.uuid()
    })
    if (isNew) {
      const begun = this.#begin(ctx, server, work, ticket)
      if (!begun.ended) this.#open.set(ticket, { call: begun, owner })
      return begun
    }
    const open = this.#open.get(ticket)
    if (!open || open.owner !== owner) throw notOpen()
    open.call.unpark(ctx)
    return open.call
  }

  #begin(ctx: Context, server: string, work: RelayedWork, ticket: string): RelayedCall {
    const { session, release } = this.#options.callers.acquire(ctx)
    const call = session.begin({ ticket, server, ctx })
    const done = () => {
      session.end(call)
      this.#open.delete(ticket)
      release()
    }
    call.start(() => work(session.host, call), done)
    return call
  }

  async #drive(call: RelayedCall, ctx: Context): Promise<object> {
    for (;;) {
      const step = await call.next()
      if ('result' in step) return step.result
      const { key, request } = step.question
      await this.#ask(call, key, ctx.ask(request, { key }))
    }
  }

  /** A caller that cannot answer ends the question, not the call: the server decides what to do then. */
  async #ask(call: RelayedCall, key: string, asked: Promise<ResultObject>): Promise<void> {
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
