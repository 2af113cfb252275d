import { isObject } from 'tenon/internal'
import { isRequired, propertiesOf, resolve, type Schema } from './schema.ts'

/** Required properties that a value lacks, as paths. A form shows them; a server checks everything else. */
export function missingFields(value: unknown, schema: unknown, root: Schema, path = ''): string[] {
  const resolved = resolve(schema, root)
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => missingFields(item, resolved.items, root, `${path}[${index}]`))
  }
  if (!isObject(value)) return []
  return Object.entries(propertiesOf(resolved)).flatMap(([name, property]) => {
    const at = path === '' ? name : `${path}.${name}`
    if (Object.hasOwn(value, name)) return missingFields(value[name], property, root, at)
    return isRequired(resolved, name) ? [at] : []
  })
}
