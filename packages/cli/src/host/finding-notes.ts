import type { Host } from 'tenon/host'
import { safeLine } from 'tenon/internal'
import { wrap } from '../columns.ts'
import type { Output } from '../output.ts'

/** Limits the findings that are remembered as shown. */
const maxShown = 1_000

/**
 * Prints what is suspicious about the definitions of servers, each once. Begin before the servers are connected.
 *
 * @param show Prints between other output, for example while the user types.
 */
export function noteFindings(host: Host, output: Output, show: (print: () => void) => void = (print) => print()): void {
  const shown = new Set<string>()
  host.on('finding', ({ server, finding }) => {
    const { severity, where, message, excerpt } = finding
    const text = `! ${server}: ${severity === 'high' ? 'Suspicious' : 'Note'}: ${message} (${where}) »${excerpt}«`
    if (shown.has(text) || shown.size >= maxShown) return
    shown.add(text)
    const lines = wrap(safeLine(text, 1_000), output.width)
    show(() => output.note(...lines.map((line) => output.notePaint.warning(line))))
  })
}
