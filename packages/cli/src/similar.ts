/** Returns the names that the user may have meant, the most similar first: typing errors, parts, other case or punctuation. */
export function similarNames(name: string, names: readonly string[]): string[] {
  const wanted = plain(name)
  return names
    .map((each) => [each, difference(plain(each), wanted)] as const)
    .filter(([, changes]) => changes <= Math.max(1, Math.floor(wanted.length / 3)))
    .sort(([, a], [, b]) => a - b)
    .map(([each]) => each)
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
}

/** How many letters to change; 1 if one contains the other. */
function difference(a: string, b: string): number {
  if (a === b) return 0
  if (Math.min(a.length, b.length) > 2 && (a.includes(b) || b.includes(a))) return 1
  return editDistance(a.slice(0, maxCompared), b.slice(0, maxCompared))
}

/** The work grows with the square of the length, and names come from servers. */
const maxCompared = 100

/** The number of letters to insert, remove, replace or swap with the next one. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1]
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row[j] = Math.min(
        at(last, j) + 1,
        at(row, j - 1) + 1,
        at(last, j - 1) + (isSame ? 0 : 1),
        isSwapped ? at(beforeLast, j - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    beforeLast = last
    last = row
  }
  return at(last, b.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY
}
