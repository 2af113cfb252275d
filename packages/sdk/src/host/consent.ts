import { DeniedError, McpError, Suspended } from '../errors.ts'
import { joinSignals, untilAborted } from '../util/abort.ts'
import type { Emitter } from '../util/emitter.ts'
import { isThenable } from '../util/maybe-async.ts'
import { isObject } from '../util/objects.ts'
import type {
  ActionServer,
  Approval,
  ApprovalRequest,
  Approve,
  Decision,
  GrantDuration,
  HostAction,
  ResultAction,
  SamplingAction,
} from './action.ts'
import { coversCommand } from './approver.ts'
import type { AuditLog } from './audit/audit.ts'
import { digestOf } from './definitions.ts'
import { describeAction } from './describe-action.ts'
import type { HostEvents } from './events.ts'
import type { Finding } from './findings/finding.ts'
import type { GrantLookup, Grants, NewGrant } from './grants.ts'
import { type CompiledPolicy, type PolicyDecision, sourcesOf, taintOf } from './policy-match.ts'
import type { Taint } from './taint.ts'

/** Whether an action may happen, and why. */
export interface Verdict {
  readonly allowed: boolean
  /** What decided: a rule of the policy, a grant, the user, the program without asking the user, or the lack of a user. */
  readonly by: 'policy' | 'grant' | 'user' | 'program' | 'default'
  readonly reason: string
  /** The name of the program that decided without asking the user. */
  readonly program?: string | undefined
  /** What the user chose. */
  readonly duration?: GrantDuration | undefined
  /** For sampling: what the user made of the request or the result. */
  readonly edited?: Exclude<Approval, string>['edited']
}

/** What the policy decides about a result. */
export interface ResultDecision {
  readonly decision: Decision
  readonly reason: string
}

export interface ConsentOptions {
  readonly policy: CompiledPolicy
  readonly approve: Approve | undefined
  readonly grants: Grants
  /** What the session has received. Every action that is allowed and brings data of a server adds to it. */
  readonly taint: Taint
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
  connect: ['until-close', 'always'],
  definitions: ['until-close', 'always'],
  'sampling-result': ['once', 'session'],
  result: ['once'],
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
    given: HostAction,
    findings: readonly Finding[] = [],
    context?: ActionContext | undefined,
  ): undefined | Promise<Verdict> {
    const action = this.#withTaint(given)
    const decided = this.#options.policy(action)
    if (!isThenable(decided) && isAllowed(decided, action, findings)) {
      this.#receives(action)
      return undefined
    }
    return this.#require(action, findings, decided, context)
  }

  /** Decides without throwing. */
  async decide(given: HostAction, findings: readonly Finding[] = [], context?: ActionContext): Promise<Verdict> {
    const action = this.#withTaint(given)
    return this.#decide(action, findings, await this.#options.policy(action), context)
  }

  /** The servers whose data may be in what goes to this one. */
  taintFor(server: ActionServer): readonly string[] {
    return this.#options.taint.for(server.id)
  }

  /** Whether context of other servers may be part of a sampling request. The user may still be asked about it. */
  async allowsContext(action: SamplingAction): Promise<boolean> {
    return (await this.#options.policy({ ...action, taint: action.contextFrom })).decision !== 'deny'
  }

  /**
   * Whether an action that was decided before may still happen, because the session may have received data meanwhile that a rule
   * denies or asks about.
   *
   * @param before What `taintFor` returned before that decision.
   */
  async stillAllows(given: HostAction, before: readonly string[], context?: ActionContext): Promise<boolean> {
    const action = this.#withTaint(given)
    const { policy } = this.#options
    const decided = await policy(action)
    const isNew = taintOf(action).some((id) => !before.includes(id))
    if (decided.decision === 'ask' && isNew) {
      const earlier = await policy({ ...given, taint: before } as HostAction)
      if (decided.isFlow || earlier.rule !== decided.rule)
        return (await this.#decide(action, [], decided, context)).allowed
    }
    if (decided.decision !== 'deny') this.#receives(action)
    else this.#record(action, [], byPolicy(decided, action))
    return decided.decision !== 'deny'
  }

  /**
   * What the policy decides about a result. Without a rule, the user is asked about what is suspicious; secrets are replaced
   * where nobody or only the caller of a gateway could be asked, who should not have them.
   */
  decideResult(action: ResultAction): ResultDecision | Promise<ResultDecision> {
    const decided = this.#options.policy(action)
    return isThenable(decided)
      ? decided.then((later) => this.#toResultDecision(action, later))
      : this.#toResultDecision(action, decided)
  }

  #toResultDecision({ findings }: ResultAction, decided: PolicyDecision): ResultDecision {
    const reason = reasonOf(decided)
    if (decided.rule !== undefined) return { decision: decided.decision, reason }
    if (!findings.some(({ severity }) => severity === 'high')) return { decision: 'allow', reason }
    const { approve, caller } = this.#options
    const hasUser = approve !== undefined && caller === undefined
    return { decision: hasUser ? 'ask' : 'redact', reason }
  }

  /** Asks the user about a result. */
  async askAboutResult(action: ResultAction, context: ActionContext): Promise<Verdict> {
    const { findings } = action
    const held = findings.filter(({ severity }) => severity === 'high')
    const reason = held[0]?.message ?? 'The policy asks for it'
    const verdict = await this.#ask({ action, findings, reason }, await scopeOf(action), context)
    this.recordResult(action, verdict)
    return verdict
  }

  /** Records what was decided about a result. */
  recordResult(action: ResultAction, verdict: Verdict): void {
    this.#record(action, action.findings, verdict)
  }

  /** Here, and not where actions are made, so that no action goes without. */
  #withTaint(action: HostAction): HostAction {
    if (!sends.has(action.kind)) return action
    const taint = this.#options.taint.for(action.server.id)
    return taint.length === 0 ? action : ({ ...action, taint } as HostAction)
  }

  /** Before anything is sent, because progress, log messages, questions and errors carry data too. */
  #receives({ kind, server }: HostAction): void {
    if (sends.has(kind)) this.#options.taint.add(server.id)
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
    if (isAllowed(decided, action, findings)) {
      this.#receives(action)
      return { allowed: true, by: 'policy', reason: reasonOf(decided) }
    }
    const isDenied = decided.decision === 'deny'
    const verdict = isDenied ? byPolicy(decided, action) : await this.#byGrantOrUser(action, findings, decided, context)
    if (verdict.allowed) this.#receives(action)
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
    const scope = await scopeOf(action, decided)
    // A grant covers what was shown when it was given. Something suspicious was not.
    const grant = held.length === 0 ? this.#options.grants.use(scope) : undefined
    const isCovered = grant && (action.kind !== 'connect' || coversCommand(grant, findings))
    if (isCovered) return { allowed: true, by: 'grant', reason: `granted before (${grant.duration})` }
    return this.#ask({ action, findings, reason: reasonFor(action, held, decided) }, scope, context)
  }

  async #ask(question: Question, scope: GrantScope, context: ActionContext = {}): Promise<Verdict> {
    const { approve, events, closing, grants } = this.#options
    const { action, reason } = question
    if (!approve) {
      const hint = hintFor(question)
      return {
        allowed: false,
        by: 'default',
        reason: `${withoutStop(reason)}, and there is no user to ask (approve)${hint}`,
      }
    }
    const choices = choicesOf[action.kind] ?? allChoices
    const digest = await digestOf(action)
    const { origin } = context
    // Each question has its own signal: `approve` may leave listeners on it, and Node warns about many on one signal.
    const { signal, release } = joinSignals(context.signal ? [closing, context.signal] : [closing])
    events.emit('approval', { action, state: 'waiting' })
    const answer = await ask(approve, { ...question, digest, choices, signal, origin }).finally(() => {
      release()
      events.emit('approval', { action, state: 'answered' })
    })
    if ('failure' in answer)
      return { allowed: false, by: 'default', reason: `${withoutStop(reason)}, and ${answer.failure}` }
    const { decision, edited, by: name } = readApproval(answer.approval)
    const by = name === undefined ? 'user' : 'program'
    const who = name ?? 'the user'
    if (!decision) return { allowed: false, by, reason: `${who} denied it` }
    // No person has seen what is suspicious about it, so the approval lasts no longer than it must.
    const isShort = (by === 'program' && isHeld(question.findings)) || !choices.includes(decision)
    const duration = isShort ? choices[0]! : decision
    const approver = { by, ...(name !== undefined && { program: name }) } as const
    if (duration === 'session' || duration === 'always') await grants.add({ ...scope, duration, ...approver })
    return { allowed: true, ...approver, duration, reason: `${who} allowed it (${duration})`, edited }
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
  return effective === 'allow' && !isHeld(findings)
}

function isHeld(findings: readonly Finding[]): boolean {
  return findings.some(({ severity }) => severity === 'high')
}

function byPolicy(decided: PolicyDecision, action: HostAction): Verdict {
  return { allowed: false, by: 'policy', reason: `${reasonOf(decided)}${taintedBy(decided, action)}` }
}

/** Other rules do not go by what the session has received, and a caller of a gateway need not know all servers. */
function taintedBy({ isFlow }: PolicyDecision, action: HostAction): string {
  const taint = isFlow ? taintOf(action) : []
  return taint.length === 0 ? '' : ` (this session may contain data of ${taint.join(', ')})`
}

/** Actions that send something to a server, which answers or has asked. */
const sends: ReadonlySet<HostAction['kind']> = new Set([
  'tool',
  'resource',
  'prompt',
  'sampling',
  'sampling-result',
  'elicitation',
])

/** A rule without a kind or a source covers less than it seems to. Says which rule would allow the action, if one can. */
function hintFor({ action, findings }: Question): string {
  if (isHeld(findings)) return ''
  const { kind, server } = action
  const sources = sourcesOf(action)
  const isStanding = kind === 'connect' || kind === 'definitions'
  if (!isStanding && sources.length === 0) return ''
  const rule = isStanding
    ? { kind, server: server.id, decide: 'allow' }
    : { from: sources, server: server.id, decide: 'allow' }
  return `. A rule that allows it: ${JSON.stringify(rule)}`
}

/** Messages of findings are sentences. */
function withoutStop(reason: string): string {
  return reason.replace(/\.$/, '')
}

function reasonOf({ rule }: PolicyDecision): string {
  return rule === undefined ? 'no rule of the policy decides it' : `rule ${rule + 1} of the policy`
}

type GrantScope = GrantLookup & Pick<NewGrant, 'from'>

/** What a grant is bound to. Arguments are not part of it, but the definition of the tool and the sources of data are. */
async function scopeOf(action: HostAction, decided?: PolicyDecision): Promise<GrantScope> {
  const { kind, server } = action
  const shown = action.kind === 'tool' ? await digestOf(action.tool) : shownOf(action)
  const digest = await digestOf([server, shown])
  return {
    server: server.id,
    kind,
    name: nameOf(action),
    digest,
    from: [...sourcesOf(action), ...(decided?.isFlow ? taintOf(action) : [])],
  }
}

function shownOf(action: HostAction): unknown {
  switch (action.kind) {
    case 'roots':
      return action.roots
    case 'connect':
      return [action.target, action.env, ...(action.envDigest === undefined ? [] : [action.envDigest])]
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

function reasonFor(action: HostAction, held: readonly Finding[], decided: PolicyDecision): string {
  const [first] = held
  if (first) return first.message
  const sources = sourcesOf(action)
  if (sources.length > 0) {
    const what = action.kind === 'tool' ? 'The arguments contain data' : 'The request contains context'
    return `${what} of ${sources.join(', ')}, which would go to ${action.server.id}`
  }
  if (decided.rule === undefined) return 'No rule of the policy decides it'
  return `Rule ${decided.rule + 1} of the policy asks for it${taintedBy(decided, action)}`
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

const durations: ReadonlySet<unknown> = new Set<GrantDuration>(['once', 'session', 'until-close', 'always'])

function isDuration(value: unknown): value is GrantDuration {
  return durations.has(value)
}

/** Everything but a known duration is a denial: user interfaces may be written without types. */
function readApproval(approval: unknown): Pick<Verdict, 'edited'> & { decision?: GrantDuration; by?: string } {
  const { decision, edited, by }: Partial<Exclude<Approval, string>> = isObject(approval)
    ? approval
    : { decision: approval as GrantDuration }
  if (!isDuration(decision)) return typeof by === 'string' && by !== '' ? { by } : {}
  return { decision, edited, ...(typeof by === 'string' && by !== '' && { by }) }
}

function summaryOf(action: HostAction): Record<string, unknown> {
  const { server: _server, ...rest } = action
  // The audit log must not keep what the caller does not get.
  if (rest.kind === 'result') return { kind: rest.kind, of: rest.of, name: rest.name }
  return { ...rest, ...('tool' in rest && { tool: rest.tool.name }) }
}
