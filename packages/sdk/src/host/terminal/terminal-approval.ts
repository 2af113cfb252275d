import { createPaint, type Layout } from '../../client/terminal/layout.ts'
import type { LineInput } from '../../client/terminal/line-input.ts'
import type { ApprovalRequest, Approve, GrantDuration } from '../action.ts'
import { summaryOf, viewRequest } from './action-view.ts'

/** Options of `terminalApproval`. */
export interface TerminalApprovalOptions {
  /** Where the user types. Default `process.stdin`. */
  input?: NodeJS.ReadableStream | undefined
  /** Where questions are shown. Default `process.stdout` if it is a terminal, else `process.stderr`. */
  output?: NodeJS.WritableStream | undefined
  /** Whether to use colors. Default: on a terminal, unless `NO_COLOR` is set. */
  color?: boolean | undefined
}

/**
 * Asks the user for approval in the terminal. Shows everything that is about to happen, one question at a time. Enter, Ctrl-C and
 * the end of the input deny. If there is no terminal, everything is denied. Node.js only.
 *
 * @example
 * await using host = await createHost({ servers: 'mcp.json', approve: terminalApproval() })
 */
export function terminalApproval(options: TerminalApprovalOptions = {}): Approve {
  const input = options.input ?? process.stdin
  const output = options.output ?? (process.stdout.isTTY ? process.stdout : process.stderr)
  const color = options.color ?? !process.env.NO_COLOR
  let hasExplained = false
  return async (request) => {
    // Loads `node:readline`, so that other runtimes can load this file.
    const { isTerminal, promptQueueOf } = await import('../../client/terminal/prompt-queue.ts')
    if (!isTerminal(input) || !isTerminal(output)) {
      if (!hasExplained) output.write(noTerminal)
      hasExplained = true
      return 'deny'
    }
    const queue = promptQueueOf(input)
    const endTurn = await queue.takeTurn(request.signal)
    if (!endTurn) return 'deny'
    try {
      return await ask(request, queue.lines(output), output, color)
    } finally {
      endTurn()
    }
  }
}

const noTerminal =
  'Approval was needed and denied, because there is no terminal to ask on. ' +
  'Run this program in a terminal, or allow the action by a rule of the policy.\n'

type Answer = GrantDuration | 'deny'

async function ask(
  request: ApprovalRequest,
  lines: LineInput,
  output: NodeJS.WritableStream,
  color: boolean,
): Promise<Answer> {
  const print = (...text: string[]) => void output.write(`${text.join('\n')}\n`)
  const layout: Layout = { width: widthOf(output), paint: createPaint(color) }
  const view = tryView(request, layout)
  if (!view) {
    print('Approval was needed and denied, because the request is too deeply nested to be shown.')
    return 'deny'
  }
  print(...view, layout.paint.strong(summaryOf(request.action)))
  // Opened after the question is shown: input that was typed before is not an answer to it.
  lines.open()
  try {
    const answer = await choose(request, lines, print)
    print(request.signal.aborted ? 'The question is obsolete.' : outcomes[answer])
    return answer
  } finally {
    lines.close()
  }
}

/** A value that is nested thousands of levels deep cannot be serialized. A user cannot agree to what is not shown. */
function tryView(request: ApprovalRequest, layout: Layout): string[] | undefined {
  try {
    return viewRequest(request, layout)
  } catch {
    return undefined
  }
}

const outcomes: Readonly<Record<Answer, string>> = {
  once: 'Allowed once.',
  session: 'Allowed for this session.',
  always: 'Allowed until you revoke it or it expires.',
  deny: 'Denied.',
}

const labels: Readonly<Record<Answer, string>> = {
  once: '[o]nce',
  session: '[s]ession',
  always: '[a]lways',
  deny: '[D]eny',
}

async function choose(
  { choices, signal }: ApprovalRequest,
  lines: LineInput,
  print: (line: string) => void,
): Promise<Answer> {
  const answers: readonly Answer[] = [...choices, 'deny']
  const prompt = `${answers.map((answer) => labels[answer]).join('  ')} > `
  for (;;) {
    const line = (await lines.read(prompt, signal))?.trim().toLowerCase()
    if (line === undefined || line === '' || signal.aborted) return 'deny'
    const answer = answers.find((answer) => line === answer || line === answer[0])
    if (answer) return answer
    print('Type one of the letters, or press Enter to deny.')
  }
}

/** Long lines are hard to read, so the width is limited. */
function widthOf(output: NodeJS.WritableStream): number {
  return Math.max(24, Math.min((output as { columns?: number }).columns || 80, 80))
}
