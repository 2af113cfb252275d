import { DeniedError, McpError, Suspended } from '../errors.ts'
import { untilAborted } from '../util/abort.ts'
import type { Emitter } from '../util/emitter.ts'
import { isThenable } from '../util/maybe-async.ts'
import { isObject } from '../util/objects.ts'
import type { Approval, ApprovalRequest, Approve, Decision, GrantDuration, HostAction, ToolAction } from './action.ts'
import type { AuditLog } from './audit/audit.ts'
import { digestOf } from './definitions.ts'
import { describeAction } from './describe-action.ts'
import type { HostEvents } from './events.ts'
import type { Finding } from './findings/finding.ts'
import type { GrantLookup, Grants, NewGrant } from './grants.ts'
import type { CompiledPolicy, PolicyDecision } from './policy-match.ts'

/** Whether an action may happen, and why. */
export interface Verdict {
  readonly allowed: boolean
  /** What decided: a rule of the policy, a grant, the user, or the lack of one. */
  readonly by: 'policy' | 'grant' | 'user' | 'default'
  readonly reason: string
  /** What the user chose. */
  readonly duration?: GrantDuration | undefined
  /** For sampling: what the user made of the request or the result. */
  readonly edited?: Exclude<Approval, string>['edited']
}

export interface ConsentOptions {
  readonly policy: CompiledPolicy
  readonly approve: Approve | undefined
  readonly grants: Grants
  readonly events: Emitter<HostEvents>
  readonly audit: AuditLog | undefined
  /** The caller, for the audit log of a gateway. */
  readonly caller: string | undefined
  /** Aborts when the host closes. */
  readonly closing: AbortSignal
}

/** The call that an action belongs to. */
export interface ActionContext {
  /** Aborts when the action is not wanted any more. */
  readonly signal?: AbortSignal | undefined
  /** Identifies the call to whoever asks the user. */
  readonly origin?: unknown
}

/** What happens without a rule. Questions of servers are shown to the user anyway, who can decline them. */
const defaults: Partial<Record<HostAction['kind'], Decision>> = { elicitation: 'allow' }

/** Grants that are useless or dangerous for an action: a message is approved as it is, a definition until it changes. */
const choicesOf: Partial<Record<HostAction['kind'], readonly GrantDuration[]>> = {
  connect: ['once', 'always'],
  definitions: ['once', 'always'],
  'sampling-result': ['once', 'session'],
}
const allChoices: readonly GrantDuration[] = ['once', 'session', 'always']

/** The one place that decides whether an action may happen: by policy, grant or question to the user. */
export class Consent {
  readonly #options: ConsentOptions

  constructor(options: ConsentOptions) {
    this.#options = options
  }

  /** Throws a `DeniedError` if the action may not happen. Returns undefined at once if a rule of the policy allows it. */
  require(
    action: HostAction,
    findings: readonly Finding[] = [],
    context?: ActionContext | undefined,
  ): undefined | Promise<Verdict> {
    const decided = this.#options.policy(action)
    if (!isThenable(decided) && isAllowed(decided, action, findings)) return undefined
    return this.#require(action, findings, decided, context)
  }

  /** Decides without throwing. */
  async decide(action: HostAction, findings: readonly Finding[] = [], context?: ActionContext): Promise<Verdict> {
    return this.#decide(action, findings, await this.#options.policy(action), context)
  }

  async #require(
    action: HostAction,
    findings: readonly Finding[],
    decided: PolicyDecision | PromiseLike<PolicyDecision>,
    context: ActionContext | undefined,
  ): Promise<Verdict> {
    const verdict = await this.#decide(action, findings, await decided, context)
    if (verdict.allowed) return verdict
    throw new DeniedError(`${describeAction(action)} was denied: ${verdict.reason}`)
  }

  async #decide(
    action: HostAction,
    findings: readonly Finding[],
    decided: PolicyDecision,
    context?: ActionContext | undefined,
  ): Promise<Verdict> {
    if (isAllowed(decided, action, findings)) return { allowed: true, by: 'policy', reason: reasonOf(decided) }
    const verdict =
      decided.decision === 'deny' ? byPolicy(decided) : await this.#byGrantOrUser(action, findings, decided, context)
    this.#record(action, findings, verdict)
    return verdict
  }

  async #byGrantOrUser(
    action: HostAction,
    findings: readonly Finding[],
    decided: PolicyDecision,
    context: ActionContext | undefined,
  ): Promise<Verdict> {
    const held = findings.filter(({ severity }) => severity === 'high')
    const scope = await scopeOf(action)
    // A grant covers what was shown when it was given. Something suspicious was not.
    const grant = held.length === 0 ? this.#options.grants.use(scope) : undefined
    if (grant) return { allowed: true, by: 'grant', reason: `granted before (${grant.duration})` }
    return this.#ask({ action, findings, reason: reasonFor(action, held, decided) }, scope, context)
  }

  async #ask(question: Question, scope: GrantScope, context: ActionContext = {}): Promise<Verdict> {
    const { approve, events, closing, grants } = this.#options
    const { action, reason } = question
    if (!approve) return { allowed: false, by: 'default', reason: `${reason}, and there is no user to ask (approve)` }
    const choices = choicesOf[action.kind] ?? allChoices
    const digest = await digestOf(action)
    const { origin } = context
    const signal = context.signal ? AbortSignal.any([closing, context.signal]) : closing
    events.emit('approval', { action, state: 'waiting' })
    const answer = await ask(approve, { ...question, digest, choices, signal, origin }).finally(() =>
      events.emit('approval', { action, state: 'answered' }),
    )
    if ('failure' in answer) return { allowed: false, by: 'default', reason: answer.failure }
    const { decision, edited } = readApproval(answer.approval)
    if (!decision) return { allowed: false, by: 'user', reason: 'the user denied it' }
    if (decision !== 'once' && choices.includes(decision)) await grants.add({ ...scope, duration: decision })
    return { allowed: true, by: 'user', duration: decision, reason: `the user allowed it (${decision})`, edited }
  }

  #record(action: HostAction, findings: readonly Finding[], { allowed, by, reason }: Verdict): void {
    const { audit, caller } = this.#options
    audit?.append({
      event: 'decision',
      server: action.server.id,
      caller,
      details: {
        action: summaryOf(action),
        allowed,
        by,
        reason,
        findings: findings.map(({ rule, where }) => ({ rule, where })),
      },
    })
  }
}

/** A rule that allows does not cover what is suspicious. Policies themselves look at data of other servers. */
function isAllowed({ decision, rule }: PolicyDecision, action: HostAction, findings: readonly Finding[]): boolean {
  const effective = rule === undefined ? (defaults[action.kind] ?? 'ask') : decision
  return effective === 'allow' && !findings.some(({ severity }) => severity === 'high')
}

function byPolicy(decided: PolicyDecision): Verdict {
  return { allowed: false, by: 'policy', reason: reasonOf(decided) }
}

function reasonOf({ rule }: PolicyDecision): string {
  return rule === undefined ? 'no rule of the policy decides it' : `rule ${rule + 1} of the policy`
}

type GrantScope = GrantLookup & Pick<NewGrant, 'from'>

/** What a grant is bound to. Arguments are not part of it, but the definition of the tool and the sources of data are. */
async function scopeOf(action: HostAction): Promise<GrantScope> {
  const { kind, server } = action
  const shown = action.kind === 'tool' ? await digestOf(action.tool) : shownOf(action)
  const digest = await digestOf([server, shown])
  return {
    server: server.id,
    kind,
    name: nameOf(action),
    digest,
    from: action.kind === 'tool' ? sourcesOf(action) : [],
  }
}

function shownOf(action: HostAction): unknown {
  switch (action.kind) {
    case 'roots':
      return action.roots
    case 'connect':
      return [action.target, action.env]
    case 'definitions':
      return action.changes
    default:
      return action.kind
  }
}

function nameOf(action: HostAction): string | undefined {
  if (action.kind === 'tool') return action.tool.name
  if (action.kind === 'resource') return action.uri
  return action.kind === 'prompt' ? action.prompt : undefined
}

function sourcesOf({ flows }: ToolAction): string[] {
  return [...new Set(flows.map(({ from }) => from))].sort()
}

function reasonFor(action: HostAction, held: readonly Finding[], decided: PolicyDecision): string {
  const [first] = held
  if (first) return first.message
  if (action.kind === 'tool' && action.flows.length > 0) {
    return `The arguments contain data of ${sourcesOf(action).join(', ')}, which would go to ${action.server.id}`
  }
  return decided.rule === undefined
    ? 'No rule of the policy decides it'
    : `Rule ${decided.rule + 1} of the policy asks for it`
}

type Question = Pick<ApprovalRequest, 'action' | 'findings' | 'reason'>

/** A user interface that fails has not approved. One that never answers keeps neither a cancelled call nor the host waiting. */
async function ask(approve: Approve, request: ApprovalRequest): Promise<{ approval: unknown } | { failure: string }> {
  const answered = (async () => approve(request))().then(
    (approval: unknown) => ({ approval }),
    (error: unknown) => {
      // The call is run again when the user has answered.
      if (error instanceof Suspended) throw error
      return { failure: `the user could not be asked: ${messageOf(error)}` }
    },
  )
  return untilAborted(answered, request.signal, withdrawn)
}

function withdrawn(reason: unknown): McpError {
  return reason instanceof McpError
    ? reason
    : new McpError('cancelled', 'The question was withdrawn', { cause: reason })
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Everything but a known duration is a denial: user interfaces may be written without types. */
function readApproval(approval: unknown): { decision?: GrantDuration; edited?: Verdict['edited'] } {
  const { decision, edited } = isObject(approval)
    ? (approval as Partial<Exclude<Approval, string>>)
    : { decision: approval }
  const isGrant = decision === 'once' || decision === 'session' || decision === 'always'
  return isGrant ? { decision, edited } : {}
}

function summaryOf(action: HostAction): Record<string, unknown> {
  const { server: _server, ...rest } = action
  return { ...rest, ...('tool' in rest && { tool: rest.tool.name }) }
}
