import type { ClientHandlers } from 'tenon/client'
import { terminalHandlers } from 'tenon/client/terminal'
import type { ProgressLine } from './progress-line.ts'

/**
 * Answers questions of the server on the terminal. Undefined without a terminal: the server then knows that nobody can answer.
 * @param line Cleared while a question is shown.
 */
export function questionHandlers(color: boolean, line: () => ProgressLine | undefined): ClientHandlers | undefined {
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) return undefined
  const handlers = terminalHandlers({ output: process.stderr, color: color && !process.env.NO_COLOR })
  const alone = async <T>(ask: () => T | PromiseLike<T>): Promise<T> => {
    line()?.pause()
    try {
      return await ask()
    } finally {
      line()?.resume()
    }
  }
  return {
    elicit: (request, context) => alone(() => handlers.elicit(request, context)),
    elicitUrl: (request, context) => alone(() => handlers.elicitUrl(request, context)),
  }
}
