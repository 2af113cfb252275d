/**
 * Returns how many letters differ: inserted, removed, replaced or swapped with their neighbor. Returns `limit + 1` as soon as
 * there are more than `limit`.
 */
export function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = nextRow(a, b, i, last, beforeLast)
    if (Math.min(...row) > limit) return limit + 1
    beforeLast = last
    last = row
  }
  return Math.min(last[b.length] ?? 0, limit + 1)
}

/** Returns the candidate that a misspelt word most likely stands for. Longer words may differ in two letters, short ones in one. */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  const lower = word.slice(0, maxWord).toLowerCase()
  const limit = lower.length < 5 ? 1 : 2
  let best: { name: string; distance: number } | undefined
  for (const name of candidates) {
    const distance = editDistance(lower, name.toLowerCase(), limit)
    if (distance <= limit && distance < (best?.distance ?? limit + 1)) best = { name, distance }
  }
  return best?.name
}

/** No name that words are compared with is longer. */
const maxWord = 100

function nextRow(a: string, b: string, i: number, last: readonly number[], beforeLast: readonly number[]): number[] {
  const row = [i]
  for (let j = 1; j <= b.length; j++) {
    const isSame = a[i - 1] === b[j - 1]
    const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
    const costs = [at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + (isSame ? 0 : 1)]
    if (isSwapped) costs.push(at(beforeLast, j - 2) + 1)
    row.push(Math.min(...costs))
  }
  return row
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY
}
