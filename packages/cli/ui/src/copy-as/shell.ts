/** Quotes a word for a POSIX shell, if it needs quotes. */
export function quote(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word
  return `'${word.replaceAll("'", `'\\''`)}'`
}

/** Splits a command line into words, as a shell would, without expanding anything. */
export function splitWords(line: string): string[] {
  const words: string[] = []
  const pattern = /(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+/g
  for (const [found] of line.matchAll(pattern)) {
    const word = found.replace(/'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/g, (_, single, double, escaped) => {
      if (single !== undefined) return single
      return double !== undefined ? double.replace(/\\(["\\$`])/g, '$1') : escaped
    })
    words.push(word)
  }
  return words
}
