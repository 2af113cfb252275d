import { isObject } from 'tenon/internal'
import type { ClientCapabilities } from '../core/types.ts'

/** Returns which kinds of elicitation a client supports. A capability without modes means forms. */
export function getSupportedElicitationModes(capability: ClientCapabilities['elicitation']): {
  supportsFormMode: boolean
  supportsUrlMode: boolean
} {
  const hasUrl = capability?.url !== undefined
  const hasForm = capability !== undefined && (capability.form !== undefined || !hasUrl)
  return { supportsFormMode: hasForm, supportsUrlMode: hasUrl }
}

/** Adds the defaults of a form's schema for fields that the user left out. */
export function applyDefaults(schema: unknown, content: unknown): void {
  if (!isObject(schema) || !isObject(content)) return
  const { properties } = schema
  if (schema.type === 'object' && isObject(properties)) {
    for (const [name, property] of Object.entries(properties)) {
      if (!isObject(property)) continue
      if (content[name] === undefined && Object.hasOwn(property, 'default')) content[name] = property.default
      if (content[name] !== undefined) applyDefaults(property, content[name])
    }
  }
  for (const branches of [schema.anyOf, schema.oneOf]) {
    if (Array.isArray(branches)) for (const branch of branches) applyDefaults(branch, content)
  }
}
