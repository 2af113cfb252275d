/** One line of a difference: unchanged, removed or added. */
export interface DiffLine {
  readonly sign: ' ' | '-' | '+'
  readonly text: string
}

/** Compares two texts that differ in one place, and returns the changed lines with a few around them. */
export function diffLines(before: string, after: string, context = 3): DiffLine[] {
  const [old, now] = [toLines(before), toLines(after)]
  let start = 0
  while (start < old.length && start < now.length && old[start] === now[start]) start++
  let end = 0
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++
  const line = (sign: DiffLine['sign']) => (text: string) => ({ sign, text })
  return [
    ...old.slice(Math.max(0, start - context), start).map(line(' ')),
    ...old.slice(start, old.length - end).map(line('-')),
    ...now.slice(start, now.length - end).map(line('+')),
    ...old.slice(old.length - end, old.length - end + context).map(line(' ')),
  ]
}

function toLines(text: string): string[] {
  return text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/)
}
