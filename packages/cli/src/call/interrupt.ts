import { CliError, exitCodes } from '../exit-codes.ts'
import type { ProgressLine } from './progress-line.ts'

/**
 * Runs work that Ctrl-C cancels. A second Ctrl-C ends the program.
 * @param what What is cancelled, for the message: `the call of add`.
 */
export async function withInterrupt<T>(
  what: string,
  line: ProgressLine,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const stop = () => {
    if (controller.signal.aborted) process.exit(exitCodes.interrupted)
    line.note(`Cancelling ${what}. Press Ctrl-C again to leave at once.`)
    controller.abort(interrupted(what))
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  try {
    return await work(controller.signal)
  } catch (error) {
    // The library reports the cancellation in its own words.
    throw controller.signal.aborted ? interrupted(what) : error
  } finally {
    line.pause()
    process.off('SIGINT', stop)
    process.off('SIGTERM', stop)
  }
}

function interrupted(what: string): CliError {
  return new CliError('cancelled', `You cancelled ${what}.`, { exitCode: exitCodes.interrupted })
}
