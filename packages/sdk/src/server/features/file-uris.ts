import type { TemplateVariables } from './resource-entry.ts'

/**
 * Returns whether a `file:` URI leaves the folder of its template, with `..` or an absolute path in a variable (2026-07-28
 * resources: paths of file resources are sanitized). For other schemes such values are allowed.
 */
export function escapesTemplate(uri: string, variables: TemplateVariables): boolean {
  if (!/^file:/i.test(uri)) return false
  const path = uri.replace(/[?#].*$/s, '')
  return (
    [path, ...Object.values(variables).flat()].some(hasParentSegment) ||
    Object.values(variables).flat().some(isAbsolute)
  )
}

function hasParentSegment(path: string): boolean {
  const plain = path.replace(/%2e/gi, '.').replace(/%2f/gi, '/').replace(/%5c/gi, '\\')
  return plain.split(/[\\/?#]/).includes('..') || plain.includes('\\')
}

function isAbsolute(value: string): boolean {
  return /^([/\\]|[a-z]:)/i.test(value)
}
