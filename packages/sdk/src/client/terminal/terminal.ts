import type { ElicitResult } from '../../protocol/elicitation.ts'
import type { Asking, ClientHandlers } from '../handlers.ts'
import { askForm } from './form.ts'
import { createPaint, type Layout } from './layout.ts'
import { Left, Prompt } from './prompt.ts'
import { isTerminal, promptQueueOf } from './prompt-queue.ts'
import { askUrl } from './url.ts'

export interface TerminalOptions {
  /** Where answers are typed. Default `process.stdin`. */
  input?: NodeJS.ReadableStream | undefined
  /** Where questions are shown. Default `process.stdout` if that is a terminal, else `process.stderr`. */
  output?: NodeJS.WritableStream | undefined
  /** Bold and coloured text. Default: on a terminal, unless the environment has `NO_COLOR`. */
  color?: boolean | undefined
}

export type TerminalHandlers = Required<{ [K in 'elicit' | 'elicitUrl']: NonNullable<ClientHandlers[K]> }>

/**
 * Lets the person at the terminal answer what servers ask.
 *
 * ```ts
 * const client = await connect(url, { handlers: terminalHandlers() })
 * ```
 */
export function terminalHandlers(options: TerminalOptions = {}): TerminalHandlers {
  const input = options.input ?? process.stdin
  const output = options.output ?? (process.stdout.isTTY ? process.stdout : process.stderr)
  const paint = createPaint(options.color ?? (isTerminal(output) && !process.env.NO_COLOR))
  const place: Place = { input, output, layout: () => ({ width: widthOf(output), paint }) }
  return {
    elicit: (form, asking) => converse(place, asking, (prompt) => askForm(prompt, form, asking.server)),
    elicitUrl: (question, asking) => converse(place, asking, (prompt) => askUrl(prompt, question, asking.server)),
  }
}

interface Place {
  readonly input: NodeJS.ReadableStream
  readonly output: NodeJS.WritableStream
  /** Looked at anew for each question: windows change. */
  layout(): Layout
}

async function converse(
  { input, output, layout }: Place,
  { signal }: Asking,
  answer: (prompt: Prompt) => Promise<ElicitResult>,
): Promise<ElicitResult> {
  const desk = promptQueueOf(input)
  const endTurn = await desk.takeTurn(signal)
  if (!endTurn) return { action: 'cancel' }
  const lines = desk.lines(output)
  const prompt = new Prompt(lines, output, layout(), signal)
  try {
    lines.open()
    const result = await answer(prompt)
    prompt.print('Accepted.')
    return result
  } catch (error) {
    if (!(error instanceof Left)) throw error
    prompt.print(error.message)
    return { action: error.action }
  } finally {
    lines.close()
    endTurn()
  }
}

/** Long lines are hard to read, so a wide window is not filled. */
function widthOf(output: NodeJS.WritableStream): number {
  return Math.min((output as { columns?: number }).columns || 80, 80)
}
