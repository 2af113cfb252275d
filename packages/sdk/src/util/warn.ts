const given = new Set<string>()

/** Prints a developer warning once per process and key. Writes to stderr, never to stdout. */
export function warnOnce(key: string, message: string): void {
  if (given.has(key)) return
  given.add(key)
  console.warn(`[tenon] ${message}`)
}
