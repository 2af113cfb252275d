/**
 * Returns the values that match the typed text, most relevant first: exact match, prefix, start of a word, substring, and last
 * values that contain the characters in order. Ignores case. Keeps the given order within a group.
 */
export function rankByRelevance(values: readonly string[], typed: string): string[] {
  if (typed === '') return [...values]
  const wanted = typed.toLowerCase()
  const groups: string[][] = [[], [], [], [], []]
  for (const value of values) groups[groupOf(value, wanted)]?.push(value)
  return groups.flat()
}

function groupOf(value: string, wanted: string): number {
  const text = value.toLowerCase()
  const at = text.indexOf(wanted)
  if (at === 0) return text.length === wanted.length ? 0 : 1
  if (at > 0) return startsWord(value, wanted) ? 2 : 3
  return hasInOrder(text, wanted) ? 4 : -1
}

/** `script` starts a word in `type-script` and in `typeScript`, but not in `typescript`. */
function startsWord(value: string, wanted: string): boolean {
  const words = value.split(/[^\p{L}\p{N}]+|(?<=\p{Ll})(?=\p{Lu})/u)
  return words.some((word) => word.toLowerCase().startsWith(wanted))
}

function hasInOrder(text: string, wanted: string): boolean {
  let at = -1
  for (const character of wanted) {
    at = text.indexOf(character, at + 1)
    if (at === -1) return false
  }
  return true
}
