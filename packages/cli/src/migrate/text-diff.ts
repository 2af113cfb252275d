/** Compares two texts, and returns a unified diff without its header. */
export function diffTexts(before: string, after: string, context = 3): string[] {
  const edits = compare(linesOf(before), linesOf(after))
  const lines: string[] = []
  let index = 0
  while (index < edits.length) {
    if (edits[index]!.sign === ' ') {
      index++
      continue
    }
    const start = Math.max(0, index - context)
    let end = index
    for (let quiet = 0; end < edits.length && quiet <= 2 * context; end++)
      quiet = edits[end]!.sign === ' ' ? quiet + 1 : 0
    while (end > index && edits[end - 1]!.sign === ' ') end--
    const hunk = edits.slice(start, Math.min(edits.length, end + context))
    lines.push(hunkHeader(hunk), ...hunk.map(({ sign, text }) => `${sign}${text}`))
    index = end + context
  }
  return lines
}

/** A last line without a line break is marked, as patch programs expect it. */
function linesOf(text: string): string[] {
  return text.endsWith('\n') ? text.slice(0, -1).split('\n') : `${text}\n\\ No newline at end of file`.split(/\n(?!\\)/)
}

interface Edit {
  readonly sign: ' ' | '-' | '+'
  readonly text: string
  readonly oldLine: number
  readonly newLine: number
}

function hunkHeader(hunk: readonly Edit[]): string {
  const oldCount = hunk.filter(({ sign }) => sign !== '+').length
  const newCount = hunk.filter(({ sign }) => sign !== '-').length
  return `@@ -${hunk[0]!.oldLine + 1},${oldCount} +${hunk[0]!.newLine + 1},${newCount} @@`
}

/** The shortest edit script, by the algorithm of Myers. */
function compare(old: readonly string[], now: readonly string[]): Edit[] {
  const trace = findPath(old, now)
  const edits: Edit[] = []
  let [x, y] = [old.length, now.length]
  for (let depth = trace.length - 1; depth >= 0; depth--) {
    const furthest = trace[depth]!
    const k = x - y
    const isDown = k === -depth || (k !== depth && (furthest.get(k - 1) ?? -1) < (furthest.get(k + 1) ?? -1))
    const previousK = isDown ? k + 1 : k - 1
    const previousX = depth === 0 ? 0 : (furthest.get(previousK) ?? 0)
    const previousY = previousX - previousK
    while (x > Math.max(previousX, 0) && y > Math.max(depth === 0 ? 0 : previousY, 0)) {
      x--
      y--
      edits.push({ sign: ' ', text: old[x]!, oldLine: x, newLine: y })
    }
    if (depth === 0) break
    if (isDown) edits.push({ sign: '+', text: now[--y]!, oldLine: x, newLine: y })
    else edits.push({ sign: '-', text: old[--x]!, oldLine: x, newLine: y })
  }
  return edits.reverse()
}

function findPath(old: readonly string[], now: readonly string[]): Map<number, number>[] {
  const furthest = new Map<number, number>([[1, 0]])
  const trace: Map<number, number>[] = []
  for (let depth = 0; depth <= old.length + now.length; depth++) {
    trace.push(new Map(furthest))
    for (let k = -depth; k <= depth; k += 2) {
      const isDown = k === -depth || (k !== depth && (furthest.get(k - 1) ?? -1) < (furthest.get(k + 1) ?? -1))
      let x = isDown ? (furthest.get(k + 1) ?? 0) : (furthest.get(k - 1) ?? 0) + 1
      while (x < old.length && x - k < now.length && old[x] === now[x - k]) x++
      furthest.set(k, x)
      if (x >= old.length && x - k >= now.length) return trace
    }
  }
  return trace
}
