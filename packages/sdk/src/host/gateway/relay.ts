import { ErrorCode, ProtocolError, Suspended } from '../../errors.ts'
import type { ResultObject } from '../../jsonrpc/message.ts'
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

  /** @param server The id of the server that the work calls. */
  async run<R extends object>(ctx: Context, server: string, work: RelayedWork<R>): Promise<R> {
    const call = await this.#find(ctx, server, work)
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
  async #find(ctx: Context, server: string, work: RelayedWork): Promise<RelayedCall> {
    if (!ctx.caller.rules.multiRoundTrip) return this.#begin(ctx, server, work)
    const owner = ctx.request?.principal
    let begun: RelayedCall | undefined
    const ticket = await ctx.once('call', () => {
      begun = this.#begin(ctx, server, work)
      if (!begun.ended) this.#open.set(begun.ticket, { call: begun, owner })
      return begun.ticket
    })
    if (begun) return begun
    const open = this.#open.get(ticket)
    if (!open || open.owner !== owner) throw notOpen()
    open.call.unpark()
    return open.call
  }

  #begin(ctx: Context, server: string, work: RelayedWork): RelayedCall {
    const { session, release } = this.#callers.acquire(ctx)
    const call = session.begin(server)
    const done = () => {
      session.end(call)
      this.#open.delete(call.ticket)
      release()
    }
    // Before the start: progress that comes at once would be lost.
    call.onProgress = ({ progress, ...details }) => ctx.progress(progress, details)
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

function notOpen(): ProtocolError {
  const message = 'The request that this answer belongs to is not open any more. Send it again from the beginning.'
  return new ProtocolError(ErrorCode.InvalidRequest, message)
}
