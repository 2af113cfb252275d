import { isObject } from 'tenon/internal'

/** Fills in the defaults of a form for fields that the user left empty. Changes `data`. */
export function applyDefaults(schema: unknown, data: unknown): void {
  if (!isObject(schema) || !isObject(data)) return
  if (schema.type === 'object' && isObject(schema.properties)) fillFields(schema.properties, data)
  for (const alternatives of [schema.anyOf, schema.oneOf]) {
    if (Array.isArray(alternatives)) for (const each of alternatives) applyDefaults(each, data)
  }
}

function fillFields(properties: Record<string, unknown>, data: Record<string, unknown>): void {
  for (const [name, field] of Object.entries(properties)) {
    if (data[name] === undefined && isObject(field) && Object.hasOwn(field, 'default')) data[name] = field.default
    applyDefaults(field, data[name])
  }
}
