import type { SchemaIssue } from './json-schema.ts'
import type { StandardIssue } from './standard.ts'

/** Formats issues as one line for a person or a model. The line is bounded, however long the property names are. */
export function describeIssues(issues: readonly StandardIssue[]): string {
  const lines = issues.slice(0, 20).map(({ message, path = [] }) => {
    const where = path.map((part) => String(typeof part === 'object' ? part.key : part).slice(0, 100)).join('.')
    return (where ? `${where.slice(0, 300)}: ${message}` : message).slice(0, 600)
  })
  const more = issues.length > 20 ? `; and ${issues.length - 20} more` : ''
  return lines.join('; ').slice(0, 4_000) + more
}

/** Converts the issues of a JSON Schema check, whose paths are JSON Pointers, to Standard Schema issues. */
export function toStandardIssues(issues: readonly SchemaIssue[]): StandardIssue[] {
  return issues.map(({ message, path }) => ({ message, path: pointerPath(path) }))
}

function pointerPath(pointer: string): string[] {
  const tokens = pointer === '' ? [] : pointer.slice(1).split('/')
  return tokens.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
}
