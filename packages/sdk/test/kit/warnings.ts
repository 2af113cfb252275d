import { setImmediate as turn } from 'node:timers/promises'
import { onTestFinished } from 'vitest'

/** Collects the warnings of a name that Node prints during a test. */
export function warningsOf(name: string): () => Promise<string[]> {
  const seen: string[] = []
  const note = (warning: Error) => {
    if (warning.name === name) seen.push(warning.message)
  }
  process.on('warning', note)
  onTestFinished(() => void process.off('warning', note))
  return async () => {
    // Node reports a warning in the next tick.
    await turn()
    return seen
  }
}
