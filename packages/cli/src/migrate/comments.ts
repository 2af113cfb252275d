import type { Finding } from './finding.ts'

/** Adds a comment above each line that a person has to look at. */
export function markFindings(text: string, before: string, findings: readonly Finding[]): string {
  const oldLines = before.split('\n')
  const lines = text.split('\n')
  // Lines move when imports change, so each finding is looked up by its text, near its old place and in order.
  let from = 0
  for (const { line, reason, action } of [...findings].sort((a, b) => a.line - b.line)) {
    const wanted = oldLines[line - 1]!
    const at = lines.indexOf(wanted, from)
    if (at === -1) continue
    const indent = /^\s*/.exec(wanted)![0]
    lines.splice(at, 0, `${indent}// TODO(tenon migrate): ${reason} ${action}`)
    from = at + 2
  }
  return lines.join('\n')
}
