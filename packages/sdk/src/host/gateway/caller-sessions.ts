import { McpError } from '../../errors.ts'
import type { ElicitParams, ElicitResult } from '../../protocol/elicitation.ts'
import type { InputRequest } from '../../protocol/input.ts'
import type { Root } from '../../protocol/roots.ts'
import type { CreateMessageParams, CreateMessageResult } from '../../protocol/sampling.ts'
import type { Context } from '../../server/context.ts'
import type { Approval, ApprovalRequest, Approve } from '../action.ts'
import type { Host } from '../host.ts'
import type { HostInput } from '../options.ts'
import { approveByCaller } from './approve-by-caller.ts'
import { RelayedCall } from './relayed-call.ts'

export interface CallerSessionOptions {
  /** Identifies the caller in the audit log. */
  readonly caller: string
  /** True if another anonymous caller uses the session next. */
  readonly isAnonymous: boolean
  /** What the caller can be asked. */
  readonly abilities: string
  /** The first request of the caller. */
  readonly ctx: Context
  /** Asks the operator of the gateway. */
  readonly approve: Approve | undefined
}

/** A caller with connections of its own. Questions of its servers go to the call of this caller that is open. */
export class CallerSession {
  readonly host: Host
  readonly #calls = new Set<RelayedCall>()
  readonly #options: CallerSessionOptions

  constructor(host: Host, options: CallerSessionOptions) {
    this.#options = options
    const { caller, ctx } = options
    this.host = host.session({
      caller,
      approve: (request) => this.#approve(request),
      input: this.#input(ctx),
      sampling: ctx.can('sample') && { sample: (_server, params, signal) => this.#sample(params, signal) },
      roots: ctx.can('roots') && { for: () => this.#roots() },
    })
  }

  get abilities(): string {
    return this.#options.abilities
  }

  get isBusy(): boolean {
    return this.#calls.size > 0
  }

  begin(): RelayedCall {
    const call = new RelayedCall()
    this.#calls.add(call)
    return call
  }

  end(call: RelayedCall): void {
    this.#calls.delete(call)
  }

  /** Connections and definitions are decisions of the operator, everything else is one of the caller. */
  async #approve(request: ApprovalRequest): Promise<Approval> {
    const { approve, ctx, isAnonymous } = this.#options
    const { kind } = request.action
    if (kind === 'connect' || kind === 'definitions') return approve ? approve(request) : 'deny'
    if (!ctx.can('elicit')) return 'deny'
    // The next anonymous caller is someone else.
    const choices = isAnonymous ? request.choices.filter((choice) => choice === 'once') : request.choices
    return approveByCaller({ ...request, choices }, (question) => this.#ask(question, request.signal))
  }

  #input(ctx: Context): HostInput {
    return {
      ...(ctx.can('elicit') && {
        elicit: ({ message, requestedSchema }, { server, signal }) =>
          this.#elicit({ message: `${server.id}: ${message}`, requestedSchema }, signal),
      }),
      ...(ctx.can('elicitUrl') && {
        elicitUrl: ({ message, url, elicitationId = '' }, { server, signal }) =>
          this.#elicit({ mode: 'url', message: `${server.id}: ${message}`, url: url.href, elicitationId }, signal),
      }),
    }
  }

  async #elicit(params: ElicitParams, signal: AbortSignal): Promise<ElicitResult> {
    return (await this.#ask({ method: 'elicitation/create', params }, signal)) as unknown as ElicitResult
  }

  async #sample(params: CreateMessageParams, signal: AbortSignal): Promise<CreateMessageResult> {
    return (await this.#ask({ method: 'sampling/createMessage', params }, signal)) as unknown as CreateMessageResult
  }

  async #roots(): Promise<Root[]> {
    const { roots } = await this.#ask({ method: 'roots/list' }, new AbortController().signal)
    return roots as Root[]
  }

  /** A server asks on its connection, not in a call. The newest call of this caller is the most likely cause. */
  #ask(request: InputRequest, signal: AbortSignal): ReturnType<RelayedCall['ask']> {
    const call = [...this.#calls].at(-1)
    if (call) return call.ask(request, signal)
    throw new McpError('not-connected', 'The server asked outside of a call, when no caller waits for it')
  }
}
