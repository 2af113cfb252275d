/** Where and why a value cannot be written as JSON, such as `structuredContent.total is a BigInt`; undefined when it can. */
export function jsonProblem(value: unknown, path = '', around: readonly object[] = []): string | undefined {
  if (typeof value === 'bigint') return `${path} is a BigInt`
  if (typeof value !== 'object' || value === null) return undefined
  if (around.includes(value)) return `${path} is a circular reference`
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return undefined
  const inner = [...around, value]
  for (const [key, member] of Object.entries(value)) {
    const problem = jsonProblem(member, toPath(path, key, Array.isArray(value)), inner)
    if (problem !== undefined) return problem
  }
  return undefined
}

function toPath(path: string, key: string, isIndex: boolean): string {
  if (isIndex) return `${path}[${key}]`
  return path === '' ? key : `${path}.${key}`
}
