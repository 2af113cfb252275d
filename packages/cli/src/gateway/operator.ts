import { type Approve, type HostAction, type PolicyRule, terminalApproval } from 'tenon/host'
import { CliError, exitCodes } from '../exit-codes.ts'
import { rememberDenials } from '../host/remember-denials.ts'
import type { Output } from '../output.ts'
import { safeLine, wrap } from '../safe-text.ts'

/** Options of `createOperator`. */
export interface OperatorOptions {
  readonly output: Output
  /** Whether a user can answer on the terminal. */
  readonly isInteractive: boolean
  /** Whether everything in the config file may be started. */
  readonly trustConfig: boolean
  readonly color: boolean
}

/** Decides about connections and definitions. Callers of the gateway never do. */
export interface Operator {
  readonly approve: Approve
  /** Throws if a server was refused because there is no terminal. */
  check(): void
}

/** Creates the operator: the user on the terminal, or without one only what was approved before. */
export function createOperator({ output, isInteractive, trustConfig, color }: OperatorOptions): Operator {
  const ask = isInteractive ? terminalApproval({ output: process.stderr, color }) : undefined
  const refused: HostAction[] = []
  const { approve } = rememberDenials(async (request) => {
    const { action } = request
    if (trustConfig && action.kind === 'connect') return 'always'
    if (ask) return ask(request)
    refused.push(action)
    output.note(...wrap(refusal(action), output.width))
    return 'deny'
  })
  return {
    approve,
    check: () => {
      if (refused.length > 0) throw notApproved(refused)
    },
  }
}

/** Rules for `--allow-all`. A rule without a kind covers neither connections nor definitions, which the operator decides. */
export const allowAllRules: readonly PolicyRule[] = [{ decide: 'allow' }, { from: '*', decide: 'allow' }]

function refusal(action: HostAction): string {
  const { id } = action.server
  if (action.kind === 'connect') return safeLine(`${id}: not approved before: ${action.target}`, 2_000)
  return safeLine(`${id}: its definitions ${isFirst(action) ? 'look suspicious' : 'changed'}, and were not approved.`)
}

function isFirst(action: HostAction): boolean {
  return action.kind === 'definitions' && action.isFirstUse
}

function notApproved(refused: readonly HostAction[]): CliError {
  const ids = [...new Set(refused.map(({ server }) => server.id))].join(', ')
  const isConnection = refused.every(({ kind }) => kind === 'connect')
  const inTerminal = 'Run the same command once in a terminal to approve them'
  return new CliError('not-approved', `Servers need your approval first: ${ids}.`, {
    hint: isConnection
      ? `${inTerminal}, or pass --trust-config if you have checked the config file.`
      : `${inTerminal}. Use the same --store.`,
    exitCode: exitCodes.authorization,
  })
}
