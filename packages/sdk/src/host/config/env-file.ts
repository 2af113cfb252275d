/**
 * Parses a file of environment variables: `NAME=value` per line, with optional `export`, quotes and `#` comments. Lines that are
 * something else are ignored. Variables in values are not replaced.
 */
export function parseEnvFile(text: string): Record<string, string> {
  const variables: Record<string, string> = Object.create(null)
  for (const line of text.replace(/^\uFEFF/, '').split('\n')) {
    const [name, value] = assignment(line.trim())
    if (name !== undefined) variables[name] = value
  }
  return variables
}

function assignment(line: string): [string | undefined, string] {
  const at = line.indexOf('=')
  const name = line
    .slice(0, Math.max(at, 0))
    .replace(/^export\s/, '')
    .trim()
  return /^[A-Za-z_][\w.-]*$/.test(name) ? [name, unquote(line.slice(at + 1).trim())] : [undefined, '']
}

function unquote(value: string): string {
  const quote = value[0]
  if (quote !== '"' && quote !== "'") return value.split(' #', 1)[0]?.trimEnd() ?? ''
  const end = value.indexOf(quote, 1)
  if (end < 0) return value
  const inside = value.slice(1, end)
  return quote === '"' ? inside.replaceAll('\\n', '\n') : inside
}
