import { DeniedError, PeerError, Suspended } from '../errors.ts'
import { isThenable } from '../util/maybe-async.ts'
import type { ActionServer, ResultAction } from './action.ts'
import type { Consent } from './consent.ts'
import type { Finding } from './findings/finding.ts'
import { inspectServerResult } from './findings/inspect.ts'
import { cleanNotification } from './findings/notifications.ts'
import { redactResult } from './findings/redact-result.ts'
import type { ToolNames } from './findings/tool-orders.ts'
import type { RelayedOptions } from './relayed-options.ts'

/** Something that a server sent and that is about to be handed on. */
export interface ReceivedFromServer<R extends object> {
  readonly server: ActionServer
  readonly of: ResultAction['of']
  /** The name of the tool or prompt as its server defines it, or the URI of the resource. */
  readonly name: string
  /** The name of the tool or prompt in the catalog. */
  readonly catalogName?: string | undefined
  readonly result: R
  /** Returns what is wrong with a redacted result. */
  problemOf?(redacted: R): string | undefined | PromiseLike<string | undefined>
  /** Records what was received. Called once, also if the call is run again after a question to the caller. */
  record?(findings: readonly Finding[]): void
}

export interface ReviewContext {
  readonly signal?: AbortSignal | undefined
  readonly relayed?: RelayedOptions | undefined
}

/** A result as it may be handed on, or the reason why it may not. */
export type Reviewed<R> =
  | { readonly result: R; readonly findings: readonly Finding[]; readonly held?: undefined }
  | { readonly held: string; readonly findings: readonly Finding[] }

/** Decides what happens to results, as `Consent` does for calls: by policy, or by a question to the user. */
export class ResultReview {
  readonly #consent: Consent
  readonly #toolNames: () => ToolNames

  /** @param toolNames Returns the tools of the catalog, which results must not order the model to call. */
  constructor(consent: Consent, toolNames: () => ToolNames) {
    this.#consent = consent
    this.#toolNames = toolNames
  }

  /** Answers at once if there is nothing to decide, which is nearly always. */
  review<R extends object>(
    received: ReceivedFromServer<R>,
    context: ReviewContext,
  ): Reviewed<R> | Promise<Reviewed<R>> {
    const findings = this.#inspect(received)
    const action = actionOf(received, findings)
    const decided = this.#consent.decideResult(action)
    if (!isThenable(decided) && decided.decision === 'allow') {
      received.record?.(findings)
      return { result: received.result, findings }
    }
    return this.#review(received, action, decided, context)
  }

  #inspect({ result, server }: ReceivedFromServer<object>): Finding[] {
    return inspectServerResult(result, this.#toolNames(), server.id)
  }

  /** Makes a progress message safe to hand on, without a decision. */
  cleanNotification(value: unknown, server: string): unknown {
    return cleanNotification(value, this.#toolNames(), server)
  }

  /** Throws a `DeniedError` instead of a result that is held back. */
  async require<R extends object>(received: ReceivedFromServer<R>, context: ReviewContext): Promise<R> {
    const reviewed = await this.review(received, context)
    if (reviewed.held !== undefined) throw new DeniedError(reviewed.held)
    return reviewed.result
  }

  /** Returns the error to throw instead of one that a server sent: its message and data are results as well. */
  async reviewError(error: PeerError, received: Omit<ReceivedFromServer<never>, 'result'>, context: ReviewContext) {
    const { message, data, rpcCode } = error
    const { server, of, name, catalogName } = received
    const reviewed = await this.review({ server, of, name, catalogName, result: { message, data } }, context)
    if (reviewed.held !== undefined) return new DeniedError(reviewed.held, { cause: error.rpcCode })
    const { result } = reviewed
    return result.message === message && result.data === data
      ? error
      : new PeerError(rpcCode, result.message, result.data)
  }

  async #review<R extends object>(
    received: ReceivedFromServer<R>,
    action: ResultAction,
    deciding: ReturnType<Consent['decideResult']>,
    context: ReviewContext,
  ): Promise<Reviewed<R>> {
    const { findings } = action
    const { decision, reason } = await deciding
    if (decision === 'redact') return this.#redact(received, action, context)
    if (decision === 'ask') return this.#ask(received, action, context)
    received.record?.(findings)
    if (decision === 'allow') return { result: received.result, findings }
    this.#consent.recordResult(action, { allowed: false, by: 'policy', reason })
    return { held: heldMessage(action, reason), findings }
  }

  /** Replaces the secrets. Everything else that is suspicious needs the approval of the user. */
  async #redact<R extends object>(
    received: ReceivedFromServer<R>,
    action: ResultAction,
    context: ReviewContext,
  ): Promise<Reviewed<R>> {
    const { findings } = action
    const result = redactResult(received.result)
    const problem = await received.problemOf?.(result)
    if (problem !== undefined) {
      received.record?.(findings)
      const reason = `without its secrets, it does not match its output schema: ${problem}`
      this.#consent.recordResult(action, { allowed: false, by: 'default', reason })
      return { held: heldMessage(action, reason), findings }
    }
    const rest = this.#inspect({ ...received, result })
    if (rest.some(({ severity }) => severity === 'high')) {
      return this.#ask({ ...received, result }, actionOf({ ...received, result }, rest), context, findings)
    }
    received.record?.(findings)
    this.#consent.recordResult(action, { allowed: true, by: 'policy', reason: 'its secrets were replaced' })
    return { result, findings }
  }

  async #ask<R extends object>(
    received: ReceivedFromServer<R>,
    action: ResultAction,
    { signal, relayed }: ReviewContext,
    findings = action.findings,
  ): Promise<Reviewed<R>> {
    const isFirst = await keep(relayed)
    if (isFirst !== false) received.record?.(findings)
    if (isFirst instanceof Error) return { held: heldMessage(action, isFirst.message), findings }
    const verdict = await this.#consent.askAboutResult(action, { signal, origin: relayed?.origin })
    if (verdict.allowed) return { result: received.result, findings }
    return { held: heldMessage(action, verdict.reason), findings }
  }
}

/** A caller without a session answers by repeating its request. The server must not be called a second time then. */
async function keep(relayed: RelayedOptions | undefined): Promise<boolean | Error> {
  try {
    return (await relayed?.keep?.()) ?? true
  } catch (error) {
    if (error instanceof Suspended) throw error
    return error instanceof Error ? error : new Error(String(error))
  }
}

function actionOf(
  { server, of, name, catalogName, result }: ReceivedFromServer<object>,
  findings: readonly Finding[],
): ResultAction {
  return { kind: 'result', server, of, name, catalogName, findings, result }
}

/** For the caller: what was held back, by what, and how the operator can allow it. Contains no text of the server. */
function heldMessage({ server, of, name, findings }: ResultAction, reason: string): string {
  const high = findings.filter(({ severity }) => severity === 'high')
  const rules = [...new Set(high.map(({ rule }) => rule))]
  const found = high.slice(0, maxListed).map(({ rule, where }) => `${rule} in ${where}`)
  const more = high.length > maxListed ? ` and ${high.length - maxListed} more` : ''
  const what = found.length === 0 ? '' : ` Found: ${found.join('; ')}${more}.`
  const ran = of === 'tool' ? ' The tool has run.' : ''
  const finding = rules.length === 0 ? {} : { finding: rules.length === 1 ? rules[0] : rules }
  const rule = { kind: 'result', server: server.id, ...memberOf(of, name), ...finding, decide: 'allow' }
  return `The result of ${label(of, name)} of the server ${server.id} was held back: ${reason}.${what}${ran} To allow it, the operator can put this rule before the others: ${JSON.stringify(rule)}`
}

const maxListed = 5

function label(of: ResultAction['of'], name: string): string {
  return `the ${of} ${shorten(name)}`
}

function memberOf(of: ResultAction['of'], name: string): Record<string, string> {
  return of === 'completion' ? {} : { [of]: shorten(name) }
}

/** Names are chosen by servers. */
function shorten(name: string): string {
  return name.replace(/[^\x20-\x7e]/g, '?').slice(0, 100)
}
