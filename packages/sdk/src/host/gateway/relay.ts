import { ErrorCode, ProtocolError, Suspended } from '../../errors.ts'
import type { Context } from '../../server/context.ts'
import type { Host } from '../host.ts'
import type { CallerTable } from './caller-table.ts'
import type { RelayedCall } from './relayed-call.ts'

/** A request to a server, made with the connections of the caller. */
export type RelayedWork<R extends object = object> = (host: Host, call: RelayedCall) => Promise<R>

/** Passes requests of callers to servers, and questions of servers back to the caller whose request caused them. */
export class Relay {
  readonly #callers: CallerTable
  readonly #parkedMs: number
  /** Requests of callers without a session that are not finished, by ticket. */
  readonly #open = new Map<string, { readonly call: RelayedCall; readonly owner: string | undefined }>()

  constructor(callers: CallerTable, parkedMs: number) {
    this.#callers = callers
    this.#parkedMs = parkedMs
  }

  async run<R extends object>(ctx: Context, work: RelayedWork<R>): Promise<R> {
    const call = await this.#find(ctx, work)
    call.onProgress = ({ progress, ...details }) => ctx.progress(progress, details)
    const cancel = () => call.cancel(ctx.signal.reason)
    ctx.signal.addEventListener('abort', cancel, { once: true })
    try {
      // A repeated request finds the call that the same handler began, so it has the same kind of result.
      return (await this.#drive(call, ctx)) as R
    } catch (error) {
      if (error instanceof Suspended) call.park(this.#parkedMs)
      throw error
    } finally {
      ctx.signal.removeEventListener('abort', cancel)
    }
  }

  /**
   * Begins a call, or finds the one that an earlier request of this caller began. Beginning it again would make the server do
   * the same work twice.
   */
  async #find(ctx: Context, work: RelayedWork): Promise<RelayedCall> {
    if (!ctx.caller.rules.multiRoundTrip) return this.#begin(ctx, work)
    const owner = ctx.request?.principal
    let begun: RelayedCall | undefined
    const ticket = await ctx.once('call', () => {
      begun = this.#begin(ctx, work)
      if (!begun.ended) this.#open.set(begun.ticket, { call: begun, owner })
      return begun.ticket
    })
    if (begun) return begun
    const open = this.#open.get(ticket)
    if (!open || open.owner !== owner) throw notOpen()
    open.call.unpark()
    return open.call
  }

  #begin(ctx: Context, work: RelayedWork): RelayedCall {
    const { session, release } = this.#callers.acquire(ctx)
    const call = session.begin()
    const done = () => {
      session.end(call)
      this.#open.delete(call.ticket)
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
      call.answer(key, await ctx.ask(request, { key }))
    }
  }
}

function notOpen(): ProtocolError {
  const message = 'The request that this answer belongs to is not open any more. Send it again from the beginning.'
  return new ProtocolError(ErrorCode.InvalidRequest, message)
}
