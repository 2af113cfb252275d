import type { ClientAuth } from '../../auth/client/client-auth.ts'
import { bearer } from '../../auth/client/oauth.ts'
import type { Call } from '../../era/call.ts'
import { McpError } from '../../errors.ts'
import type { ElicitParams, ElicitResult } from '../../protocol/elicitation.ts'
import type { InputRequest } from '../../protocol/input.ts'
import type { LoggingMessageParams } from '../../protocol/logging.ts'
import type { Root } from '../../protocol/roots.ts'
import type { CreateMessageParams, CreateMessageResult } from '../../protocol/sampling.ts'
import type { Account } from '../../util/account.ts'
import type { ActionServer, Approval, ApprovalRequest, Approve } from '../action.ts'
import type { Host } from '../host.ts'
import type { HostInput } from '../options.ts'
import type { Taint } from '../taint.ts'
import { approveByCaller } from './approve-by-caller.ts'
import { busy } from './busy.ts'
import { authOf } from './identity.ts'
import type { OpenCall } from './open-call.ts'
import type { UserTokens } from './options.ts'
import { withoutRelatedTask } from './related-task.ts'
import { RelayedCall } from './relayed-call.ts'
import { KeyedQuestion, ReplayedCall } from './replayed-call.ts'

export interface CallerSessionOptions {
  /** Identifies the caller in the audit log. */
  readonly caller: string
  /** What the caller can be asked. */
  readonly abilities: readonly Ability[]
  readonly userTokens: UserTokens
  /** True if nobody can use the session again, because it is unknown who the next caller is. */
  readonly isAnonymous: boolean
  /** Who answers for what the session uses, besides others. */
  readonly account: Account | undefined
  /**
   * Takes a place for a session that is used from now on. Throws if there is none for this account.
   * @returns A function that gives the place back.
   */
  takePlace(): () => void
  /** What the caller has received, in all of its sessions. */
  readonly taint: Taint
  /** Asks the operator of the gateway. */
  readonly approve: Approve | undefined
  /** Sends a log message that belongs to no call. */
  log(link: Call['link'], message: LoggingMessageParams): void
}

export type Ability = (typeof abilities)[number]

/** What callers can be asked. */
export const abilities = ['elicit', 'elicitUrl', 'sample', 'roots'] as const

interface QuestionContext {
  readonly signal: AbortSignal
  /** The call that the server asks for, if it is known. */
  readonly origin?: unknown
}

/** Calls that wait for an answer cost memory here and at the server. */
const maxOpenCalls = 1_000

/** A caller with connections of its own. Questions of its servers go to the call of this caller that is open. */
export class CallerSession {
  readonly host: Host
  readonly #calls = new Set<RelayedCall>()
  readonly #options: CallerSessionOptions
  /** Calls of other kinds. */
  #uses = 0
  #subscriptions = 0
  #onUnused: (() => void) | undefined
  /** Gives the place back that the session has while it is in use. */
  #leavePlace: (() => void) | undefined
  #wasAsked = false
  /** The last request of the caller. */
  #last: Pick<Call, 'link' | 'stream'> | undefined
  readonly #auth = new Map<string, ClientAuth>()

  constructor(host: Host, options: CallerSessionOptions) {
    this.#options = options
    const { caller, taint, log } = options
    this.host = host.session({
      caller,
      taint,
      authFor: (server) => this.#authFor(server),
      approve: (request) => this.#approve(request),
      input: this.#input(),
      sampling: this.#can('sample') && {
        sample: (server, params, signal, origin) => this.#sample(server, params, { signal, origin }),
      },
      roots: this.#can('roots') && { for: (server, origin) => this.#roots(server, origin) },
    })
    this.host.onIdleLog((server, message) => {
      const logger = message.logger === undefined ? server : `${server}/${message.logger}`
      if (this.#last) log(this.#last.link, { ...message, logger })
    })
  }

  get abilities(): readonly Ability[] {
    return this.#options.abilities
  }

  /** The caller sent a request. Its token may be newer than that of earlier ones. */
  touch(call: Pick<Call, 'link' | 'stream'>): void {
    this.#last = call
    this.#onUnused = undefined
  }

  /** Calls back once nothing uses the session, unless the caller comes back before. */
  whenUnused(callback: () => void): void {
    this.#onUnused = callback
    this.#released()
  }

  get isBusy(): boolean {
    return this.#calls.size + this.#uses + this.#subscriptions > 0
  }

  /** Whether nothing is left of the calls so far: no connection, and no question that counts towards a limit. */
  get isClean(): boolean {
    return !this.isBusy && !this.#wasAsked && !this.host.isConnected
  }

  get account(): Account | undefined {
    return this.#options.account
  }

  /** Begins a call that stays open while the caller answers questions. */
  begin(call: ConstructorParameters<typeof RelayedCall>[0]): RelayedCall {
    this.#checkRoom()
    this.#occupy()
    const begun = new RelayedCall(call)
    this.#calls.add(begun)
    return begun
  }

  /** Keeps the session for a call, until the returned function is called. */
  use(): () => void {
    this.#checkRoom()
    this.#occupy()
    this.#uses++
    return () => {
      this.#uses--
      this.#released()
    }
  }

  /** Keeps the session for a subscription, until the returned function is called. Their number is limited elsewhere. */
  useToSubscribe(): () => void {
    this.#occupy()
    this.#subscriptions++
    return () => {
      this.#subscriptions--
      this.#released()
    }
  }

  #occupy(): void {
    this.#leavePlace ??= this.#options.takePlace()
  }

  #checkRoom(): void {
    if (this.#calls.size + this.#uses >= maxOpenCalls)
      throw busy(`This caller has ${maxOpenCalls} calls that are not finished`)
  }

  end(call: RelayedCall): void {
    this.#calls.delete(call)
    this.#released()
  }

  #released(): void {
    if (this.isBusy) return
    this.#leavePlace?.()
    this.#leavePlace = undefined
    this.#onUnused?.()
    this.#onUnused = undefined
  }

  /** Connections and definitions are decisions of the operator, everything else is one of the caller. */
  async #approve(request: ApprovalRequest): Promise<Approval> {
    const { approve, isAnonymous } = this.#options
    const { kind } = request.action
    if (kind === 'connect' || kind === 'definitions') return approve ? approve(request) : 'deny'
    if (!this.#can('elicit')) throw new Error('the caller cannot be asked, because it does not support elicitation')
    // The next call may be that of someone else.
    const choices = isAnonymous ? request.choices.filter((choice) => choice === 'once') : request.choices
    // The key belongs to the question of the server, not to the one whether it may ask.
    const origin = request.origin instanceof KeyedQuestion ? request.origin.call : request.origin
    const context = { signal: request.signal, origin }
    return approveByCaller({ ...request, choices }, (question) => this.#ask(request.action.server, question, context))
  }

  #authFor(server: string): ClientAuth | undefined {
    const { userTokens } = this.#options
    const token = Object.hasOwn(userTokens, server) ? userTokens[server] : undefined
    if (!token) return undefined
    const auth = this.#auth.get(server) ?? bearer(async () => token({ auth: this.#last && authOf(this.#last) }))
    this.#auth.set(server, auth)
    return auth
  }

  #can(ability: Ability): boolean {
    return this.#options.abilities.includes(ability)
  }

  #input(): HostInput {
    return {
      ...(this.#can('elicit') && {
        elicit: ({ message, requestedSchema }, { server, ...context }) =>
          this.#elicit(server, { message: `${server.id}: ${message}`, requestedSchema }, context),
      }),
      ...(this.#can('elicitUrl') && {
        elicitUrl: ({ message, url, elicitationId = '' }, { server, ...context }) =>
          this.#elicit(
            server,
            { mode: 'url', message: `${server.id}: ${message}`, url: url.href, elicitationId },
            context,
          ),
      }),
    }
  }

  async #elicit(server: ActionServer, params: ElicitParams, context: QuestionContext): Promise<ElicitResult> {
    return (await this.#ask(server, { method: 'elicitation/create', params }, context)) as unknown as ElicitResult
  }

  async #sample(
    server: ActionServer,
    params: CreateMessageParams,
    context: QuestionContext,
  ): Promise<CreateMessageResult> {
    return (await this.#ask(
      server,
      { method: 'sampling/createMessage', params: withoutRelatedTask(params) },
      context,
    )) as unknown as CreateMessageResult
  }

  async #roots(server: ActionServer, origin: unknown): Promise<Root[]> {
    const { roots } = await this.#ask(
      server,
      { method: 'roots/list' },
      { signal: new AbortController().signal, origin },
    )
    return roots as Root[]
  }

  /**
   * On handshake revisions a server asks on its connection, not in a call. The connection belongs to this caller alone, so the
   * question does too; the newest call to the server is the most likely cause. Without one, nobody is asked.
   */
  #ask({ id }: ActionServer, request: InputRequest, { signal, origin }: QuestionContext): ReturnType<OpenCall['ask']> {
    this.#wasAsked = true
    const known = isAskable(origin) ? origin : undefined
    const call = known ?? [...this.#calls].findLast(({ server }) => server === id)
    if (call) return call.ask(request, signal)
    throw new McpError('not-connected', 'The server asked outside of a call, when no caller waits for it')
  }
}

function isAskable(origin: unknown): origin is RelayedCall | ReplayedCall | KeyedQuestion {
  return origin instanceof RelayedCall || origin instanceof ReplayedCall || origin instanceof KeyedQuestion
}
