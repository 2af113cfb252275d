import { isObject } from '../util/objects.ts'

const types: readonly unknown[] = ['string', 'integer', 'boolean']

/**
 * Describes what is wrong with the `x-mcp-header` annotations of an input schema, or returns undefined (2026-07-28 tools: HTTP
 * clients ignore tools with invalid ones). Only properties that are reachable through `properties` may be annotated.
 */
export function headerAnnotationProblem(inputSchema: unknown): string | undefined {
  return visit(inputSchema, true, new Set(), types)
}

/** The same in sessions, where the draft of the headers is all there is: it allows numbers. */
export function sessionAnnotationProblem(inputSchema: unknown): string | undefined {
  return visit(inputSchema, true, new Set(), [...types, 'number'])
}

function visit(schema: unknown, reachable: boolean, names: Set<string>, types: readonly unknown[]): string | undefined {
  if (Array.isArray(schema)) return firstProblem(schema, (item) => visit(item, false, names, types))
  if (!isObject(schema)) return undefined
  const own = Object.hasOwn(schema, 'x-mcp-header') ? annotationProblem(schema, reachable, names, types) : undefined
  if (own !== undefined) return own
  return firstProblem(Object.entries(schema), ([keyword, member]) => {
    if (keyword === 'properties' && isObject(member)) {
      return firstProblem(Object.values(member), (property) => visit(property, reachable, names, types))
    }
    return keyword === 'x-mcp-header' || keyword === 'const' || keyword === 'default' || keyword === 'enum'
      ? undefined
      : visit(member, false, names, types)
  })
}

function annotationProblem(
  schema: Record<string, unknown>,
  reachable: boolean,
  names: Set<string>,
  types: readonly unknown[],
): string | undefined {
  const name = schema['x-mcp-header']
  if (typeof name !== 'string' || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
    return 'x-mcp-header is not a valid HTTP header name'
  if (!reachable) return `x-mcp-header ${name} is not on a property that is reachable through properties alone`
  if (!types.includes(schema.type))
    return `x-mcp-header ${name} is on a property that is not a string, integer or boolean`
  if (names.has(name.toLowerCase())) return `x-mcp-header ${name} is used twice`
  names.add(name.toLowerCase())
  return undefined
}

function firstProblem<T>(items: readonly T[], check: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const problem = check(item)
    if (problem !== undefined) return problem
  }
  return undefined
}
