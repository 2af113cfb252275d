import { createPaint, type Layout } from '../../client/terminal/layout.ts'
import type { LineInput } from '../../client/terminal/line-input.ts'
import { approvalLine } from '../../util/safe-text.ts'
import type { Approval, ApprovalRequest, Approve, GrantDuration } from '../action.ts'
import { summaryOf, viewRequest } from './action-view.ts'
import { isEditable, toEditableText, withEdited } from './sampling-text.ts'

/** Options of `terminalApproval`. */
export interface TerminalApprovalOptions {
  /** Where the user types. Default `process.stdin`. */
  input?: NodeJS.ReadableStream | undefined
  /** Where questions are shown. Default `process.stdout` if it is a terminal, else `process.stderr`. */
  output?: NodeJS.WritableStream | undefined
  /** Whether to use colors. Default: on a terminal, unless `NO_COLOR` is set. */
  color?: boolean | undefined
  /**
   * Lets the user edit a sampling request, or the answer of the model. Returns the text that the user saved. Default: the editor
   * that `VISUAL` or `EDITOR` names.
   */
  editText?: ((text: string, signal: AbortSignal) => Promise<string>) | undefined
}

/**
 * Asks the user for approval in the terminal. Shows everything that is about to happen, one question at a time. Enter, Ctrl-C and
 * the end of the input deny. Sampling requests and answers of the model can be edited. If there is no terminal, everything is
 * denied. Node.js only.
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
      return await ask(request, {
        open: () => queue.lines(output),
        print: (...lines) => void output.write(`${lines.join('\n')}\n`),
        editText: options.editText ?? editInEditor,
        layout: { width: widthOf(output), paint: createPaint(color) },
      })
    } finally {
      endTurn()
    }
  }
}

/** Loads `node:child_process`, so that other runtimes can load this file. */
async function editInEditor(text: string, signal: AbortSignal): Promise<string> {
  const { editText } = await import('../node/edit-text.ts')
  return editText(text, signal)
}

const noTerminal =
  'Approval was needed and denied, because there is no terminal to ask on. ' +
  'Run this program in a terminal, or allow the action by a rule of the policy.\n'

type Answer = GrantDuration | 'deny'
type Edited = Exclude<Approval, string>['edited']

/** The terminal of one question. */
interface ApprovalTerminal {
  /** Returns a reader of lines, which is used for one answer. */
  open(): LineInput
  print(...lines: string[]): void
  editText(text: string, signal: AbortSignal): Promise<string>
  readonly layout: Layout
}

async function ask(request: ApprovalRequest, terminal: ApprovalTerminal): Promise<Approval> {
  const { print, layout } = terminal
  let shown = request
  let edited: Edited
  for (;;) {
    const view = tryView(shown, layout)
    if (!view) {
      print('Approval was needed and denied, because the request is too deeply nested to be shown.')
      return 'deny'
    }
    print(...view, layout.paint.strong(summaryOf(shown.action)))
    const answer = await askOnce(shown, terminal)
    if (answer !== 'edit') return edited === undefined || answer === 'deny' ? answer : { decision: answer, edited }
    const changed = await edit(shown, terminal)
    if (!changed) continue
    edited = changed.edited
    shown = { ...shown, action: changed.action }
  }
}

async function askOnce(request: ApprovalRequest, { open, print }: ApprovalTerminal): Promise<Answer | 'edit'> {
  // Opened after the question is shown: input that was typed before is not an answer to it.
  const lines = open()
  lines.open()
  try {
    const answer = await choose(request, lines, print)
    if (answer !== 'edit') print(request.signal.aborted ? 'The question is obsolete.' : outcomes[answer])
    return answer
  } finally {
    lines.close()
  }
}

/** Returns undefined if nothing was changed. The user sees what was, and is asked again. */
async function edit({ action, signal }: ApprovalRequest, { print, editText }: ApprovalTerminal) {
  if (!isEditable(action)) return undefined
  const editable = toEditableText(action)
  try {
    const text = await editText(editable.text, signal)
    if (text === editable.text) return undefined
    const edited = editable.read(text)
    return { edited, action: withEdited(action, edited) }
  } catch (error) {
    print(`Nothing was changed: ${approvalLine(error instanceof Error ? error.message : String(error))}`)
    return undefined
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
  'until-close': 'Allowed until this program ends.',
  always: 'Allowed until you revoke it or it expires.',
  deny: 'Denied.',
}

const labels: Readonly<Record<Answer | 'edit', string>> = {
  edit: '[e]dit',
  once: '[o]nce',
  session: '[s]ession',
  'until-close': '[u]ntil close',
  always: '[a]lways',
  deny: '[D]eny',
}

async function choose(
  { action, choices, signal }: ApprovalRequest,
  lines: LineInput,
  print: (line: string) => void,
): Promise<Answer | 'edit'> {
  const answers: readonly (Answer | 'edit')[] = [...choices, ...(isEditable(action) ? (['edit'] as const) : []), 'deny']
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
