import {
  type Approval,
  type ApprovalRequest,
  type Approve,
  type Finding,
  type HostAction,
  type PolicyRule,
  terminalApproval,
} from 'tenon/host'
import { safeLine } from 'tenon/internal'
import { wrap } from '../columns.ts'
import { CliError, exitCodes } from '../exit-codes.ts'
import { rememberDenials } from '../host/remember-denials.ts'
import type { Output } from '../output.ts'

/** Options of `createOperator`. */
export interface OperatorOptions {
  readonly output: Output
  /** Whether a user can answer on the terminal. */
  readonly isInteractive: boolean
  readonly color: boolean
  /** What the user has allowed by the command line. */
  readonly trust: CommandLineTrust
  /** Command lines that may be started although something is suspicious about them. Each is complete, as it was shown. */
  readonly allowedCommands: readonly string[]
  /** How to be asked: `Run the same command once in a terminal`. */
  readonly inTerminal: string
}

/** What the command line allows without asking: nothing, what is not suspicious, or also a command that is part of it. */
export interface CommandLineTrust {
  readonly connections: 'none' | 'unsuspicious' | 'all'
  /** What allows it, for the audit log: the name of an option. */
  readonly by: string
  /** How long it is allowed: `always` is remembered for runs without the option. */
  readonly duration: 'until-close' | 'always'
}

/** Decides about connections and definitions. Callers of the gateway never do. */
export interface Operator {
  readonly approve: Approve
  /** Throws if a server was refused because there is no terminal. */
  check(): void
}

/** Creates the operator: the user on the terminal, or without one only what was approved before. */
export function createOperator(options: OperatorOptions): Operator {
  const { output, isInteractive, color } = options
  const ask = isInteractive ? rememberDenials(terminalApproval({ output: process.stderr, color })).approve : undefined
  const refused = new Map<string, ApprovalRequest>()
  return {
    approve: async (request) => {
      const decided = byCommandLine(request, options)
      if (decided) return decided
      if (ask) return ask(request)
      // A host tries again whenever tools are listed.
      if (!refused.has(request.digest)) output.note(...refusal(request, output.width))
      refused.set(request.digest, request)
      throw new Error('there is no terminal')
    },
    check: () => {
      if (refused.size > 0) throw notApproved([...refused.values()], options)
    },
  }
}

/** An option allows what is not suspicious. Other commands have to be named themselves. */
function byCommandLine(request: ApprovalRequest, { trust, allowedCommands }: OperatorOptions): Approval | undefined {
  const { action } = request
  if (action.kind !== 'connect') return undefined
  const isTrusted = trust.connections === 'all' || (trust.connections === 'unsuspicious' && !isSuspicious(request))
  if (isTrusted) return { decision: trust.duration, by: trust.by }
  const text = allowedText(request)
  const isNamed = text !== undefined && allowedCommands.includes(text)
  return isNamed ? { decision: 'until-close', by: '--allow-command' } : undefined
}

function isSuspicious({ findings }: ApprovalRequest): boolean {
  return findings.some(needsPerson)
}

/** What no option allows in general: what looks dangerous, and commands of which nobody but a person can say what they run. */
function needsPerson({ severity, rule }: Finding): boolean {
  return severity === 'high' || rule === 'unknown-launcher'
}

/**
 * What `--allow-command` has to name: the complete command line, after the variables that decide which code it runs. Returns
 * undefined if a variable cannot be named, because it points to private files or is too long to be shown completely.
 */
function allowedText({ action, findings }: ApprovalRequest): string | undefined {
  if (action.kind !== 'connect') return undefined
  const variables = findings.filter((finding) => needsPerson(finding) && isAboutVariable(finding))
  const words = variables.map(assignmentOf)
  return words.every((word) => word !== undefined) ? [...words, action.target].join(' ') : undefined
}

function isAboutVariable({ where }: Finding): boolean {
  return where.startsWith(variablePrefix)
}

const variablePrefix = 'environment variable '

/** `NAME=value` for a shell. An excerpt that is not the exact text has other characters than printable ones. */
function assignmentOf({ where, excerpt }: Finding): string | undefined {
  const name = where.slice(variablePrefix.length)
  if (!/^\w+$/.test(name) || !excerpt.startsWith(`${name}=`) || !/^[ -~]*$/.test(excerpt)) return undefined
  const value = excerpt.slice(name.length + 1)
  // `<U+200B>` stands for a character that is not shown, and for white space other than single spaces.
  if (value.includes('<U+')) return undefined
  return `${name}=${/^[\w@%+=:,./-]*$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`}`
}

/** Rules for `--allow-all`. A rule without a kind covers neither connections nor definitions, which the operator decides. */
export const allowAllRules: readonly PolicyRule[] = [{ decide: 'allow' }, { from: '*', decide: 'allow' }]

function refusal(request: ApprovalRequest, width: number): string[] {
  const { action, findings } = request
  const { id } = action.server
  if (action.kind !== 'connect')
    return wrap(
      safeLine(`${id}: its definitions ${isFirst(action) ? 'look suspicious' : 'changed'}, and were not approved.`),
      width,
    )
  const suspicious = findings.filter(needsPerson)
  const text = allowedText(request)
  return [
    ...wrap(safeLine(`${id}: not approved before: ${action.target}`, 2_000), width),
    ...suspicious.flatMap(({ message }) => wrap(safeLine(`  ! ${message}`), width)),
    // Not wrapped, so that it can be copied.
    ...(suspicious.length > 0 && text !== undefined ? [`  To start it anyway: ${allowOption(text)}`] : []),
  ]
}

/** The option that allows this command, for a shell. Invisible characters are escaped in the command already. */
function allowOption(target: string): string {
  return safeLine(`--allow-command '${target.replaceAll("'", `'\\''`)}'`, 10_000)
}

function isFirst(action: HostAction): boolean {
  return action.kind === 'definitions' && action.isFirstUse
}

function notApproved(refused: readonly ApprovalRequest[], options: OperatorOptions): CliError {
  const ids = [...new Set(refused.map(({ action }) => action.server.id))].join(', ')
  return new CliError('not-approved', `Servers need your approval first: ${ids}.`, {
    hint: wayOut(refused, options),
    exitCode: exitCodes.authorization,
  })
}

function wayOut(refused: readonly ApprovalRequest[], { inTerminal, trust }: OperatorOptions): string {
  const how = `${inTerminal} to approve them`
  if (!refused.every(({ action }) => action.kind === 'connect')) return `${how}. Use the same --store.`
  if (refused.some(isSuspicious)) return `${how}, or pass --allow-command with each complete command.`
  return trust.connections === 'none'
    ? `${how}, or pass --trust-config if you have checked the config file.`
    : `${how}.`
}
