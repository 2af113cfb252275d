/**
 * Compiles a pattern in which `*` stands for any text. Takes linear time, because a part between two stars is never looked for
 * twice.
 */
export function compileGlob(pattern: string): (text: string) => boolean {
  const parts = pattern.split('*')
  if (parts.length === 1) return (text) => text === pattern
  const first = parts.shift() ?? ''
  const last = parts.pop() ?? ''
  return (text) => {
    if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false
    const end = text.length - last.length
    let from = first.length
    for (const part of parts) {
      const at = text.indexOf(part, from)
      if (at === -1) return false
      from = at + part.length
    }
    return from <= end
  }
}

/** Whether a text matches one of the patterns, in which `*` stands for any text. */
export function matchesAny(patterns: string | readonly string[], text: string): boolean {
  return (typeof patterns === 'string' ? [patterns] : patterns).some((pattern) => compileGlob(pattern)(text))
}
