import { usageError } from '../exit-codes.ts'

/**
 * Splits a command line into words, with the quotes of a POSIX shell. Nothing else of a shell is supported: no variables, no
 * pipes. On Windows, backslashes are part of paths and escape nothing.
 */
export function splitWords(line: string, isWindows = process.platform === 'win32'): string[] {
  const words: string[] = []
  let word: string | undefined
  let quote: string | undefined
  for (let at = 0; at < line.length; at++) {
    const char = line[at]!
    if (quote !== undefined) {
      if (char === quote) quote = undefined
      else if (char === '\\' && quote === '"' && /["\\$`]/.test(line[at + 1] ?? '')) word += line[++at]!
      else word += char
    } else if (char === '"' || char === "'") {
      quote = char
      word ??= ''
    } else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else if (char === '\\' && !isWindows && at + 1 < line.length) word = (word ?? '') + line[++at]!
    else word = (word ?? '') + char
  }
  if (quote !== undefined) throw usageError(`The quote ${quote} is not closed: ${line}`)
  return word === undefined ? words : [...words, word]
}
