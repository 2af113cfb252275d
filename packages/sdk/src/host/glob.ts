/** Whether a text matches one of the patterns, in which `*` matches any text. */
export function matchesAny(patterns: string | readonly string[], text: string): boolean {
  return typeof patterns === 'string' ? matches(patterns, text) : patterns.some((pattern) => matches(pattern, text))
}

/** Compares part by part from the left, so that the time is linear in both lengths. */
export function matches(pattern: string, text: string): boolean {
  const parts = pattern.split('*')
  const [first = ''] = parts
  if (parts.length === 1) return pattern === text
  if (!text.startsWith(first)) return false
  let at = first.length
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  const last = parts[parts.length - 1] ?? ''
  return text.length - last.length >= at && text.endsWith(last)
}
