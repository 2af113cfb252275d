import type { ElicitResult } from '../../protocol/elicitation.ts'
import type { ClientHandlers, InputContext } from '../input/handlers.ts'
import { askForm } from './form.ts'
import { createPaint, type Layout } from './layout.ts'
import { Prompt, PromptAborted } from './prompt.ts'
import { isTerminal, promptQueueOf } from './prompt-queue.ts'
import { askUrl } from './url.ts'

/** Options of `terminalHandlers`. */
export interface TerminalOptions {
  /** Where the user types. Default `process.stdin`. */
  input?: NodeJS.ReadableStream | undefined
  /** Where requests are shown. Default `process.stdout` if it is a terminal, else `process.stderr`. */
  output?: NodeJS.WritableStream | undefined
  /** Whether to use colors. Default: on a terminal, unless `NO_COLOR` is set. */
  color?: boolean | undefined
}

/** The handlers that `terminalHandlers` creates. */
export type TerminalHandlers = Required<{ [K in 'elicit' | 'elicitUrl']: NonNullable<ClientHandlers[K]> }>

/**
 * Creates handlers that show forms and URLs in the terminal.
 *
 * @example
 * const client = await connect(url, { handlers: terminalHandlers() })
 */
export function terminalHandlers(options: TerminalOptions = {}): TerminalHandlers {
  const input = options.input ?? process.stdin
  const output = options.output ?? (process.stdout.isTTY ? process.stdout : process.stderr)
  const paint = createPaint(options.color ?? (isTerminal(output) && !process.env.NO_COLOR))
  const terminal: Terminal = { input, output, layout: () => ({ width: widthOf(output), paint }) }
  return {
    elicit: (form, context) => runPrompt(terminal, context, (prompt) => askForm(prompt, form, context.server)),
    elicitUrl: (request, context) => runPrompt(terminal, context, (prompt) => askUrl(prompt, request, context.server)),
  }
}

interface Terminal {
  readonly input: NodeJS.ReadableStream
  readonly output: NodeJS.WritableStream
  /** Computed for each request, because the window can be resized. */
  layout(): Layout
}

async function runPrompt(
  { input, output, layout }: Terminal,
  { signal }: InputContext,
  answer: (prompt: Prompt) => Promise<ElicitResult>,
): Promise<ElicitResult> {
  const queue = promptQueueOf(input)
  const endTurn = await queue.takeTurn(signal)
  if (!endTurn) return { action: 'cancel' }
  const lines = queue.lines(output)
  const prompt = new Prompt(lines, output, layout(), signal)
  try {
    lines.open()
    const result = await answer(prompt)
    prompt.print('Accepted.')
    return result
  } catch (error) {
    if (!(error instanceof PromptAborted)) throw error
    prompt.print(error.message)
    return { action: error.action }
  } finally {
    lines.close()
    endTurn()
  }
}

/** Long lines are hard to read, so the width is limited. */
function widthOf(output: NodeJS.WritableStream): number {
  return Math.min((output as { columns?: number }).columns || 80, 80)
}
