/** A JSON Schema, as far as the schemas of the protocol use it. */
export interface Schema {
  $ref?: string
  anyOf?: Schema[]
  allOf?: Schema[]
  const?: unknown
  enum?: unknown[]
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | boolean
  items?: Schema
  format?: string
  minimum?: number
}

const examples: Record<string, string> = { uri: 'file:///a', byte: 'AAAA' }
const maxDepth = 6

/** Values that a schema accepts: with as few and as many members as possible, and with each member of its unions. */
export function validValues(schema: Schema, definitions: Record<string, Schema>): unknown[] {
  const found = new Map<string, unknown>()
  for (const isFull of [false, true]) {
    for (let choice = 0; choice < 12; choice++) {
      const value = make(schema, { definitions, isFull, choice }, 0)
      found.set(JSON.stringify(value), value)
    }
  }
  return [...found.values()]
}

interface Choices {
  definitions: Record<string, Schema>
  isFull: boolean
  /** Which member of a union to take. */
  choice: number
}

function make(schema: Schema, choices: Choices, depth: number): unknown {
  const { definitions, choice } = choices
  if (schema.$ref) return make(definitions[schema.$ref.split('/').pop()!]!, choices, depth)
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map((each) => make(each, choices, depth)))
  // Deep inside it takes the first member, which is never recursive.
  const pick = <T>(list: T[]): T => list[depth > maxDepth ? 0 : choice % list.length]!
  if (schema.anyOf) return make(pick(schema.anyOf), choices, depth + 1)
  if ('const' in schema) return schema.const
  if (schema.enum) return pick(schema.enum)
  switch (pick([schema.type ?? (schema.properties ? 'object' : 'unknown')].flat())) {
    case 'object':
      return makeObject(schema, choices, depth)
    case 'array':
      return depth > maxDepth ? [] : [make(schema.items ?? {}, choices, depth + 1)]
    case 'integer':
      return schema.minimum ?? 1
    case 'number':
      return schema.minimum ?? 1.5
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return examples[schema.format ?? ''] ?? 'text'
  }
}

function makeObject({ properties = {}, required = [], additionalProperties }: Schema, choices: Choices, depth: number) {
  const made: Record<string, unknown> = {}
  for (const [key, schema] of Object.entries(properties)) {
    if (required.includes(key) || (choices.isFull && depth <= maxDepth)) made[key] = make(schema, choices, depth + 1)
  }
  const isMap = typeof additionalProperties === 'object' && Object.keys(additionalProperties).length > 0
  if (isMap && depth <= maxDepth) made.extra = make(additionalProperties, choices, depth + 1)
  return made
}

const others: unknown[] = [null, true, 0, -1, 2.5, '', 'text', [], [1], {}, { a: 1 }]

/**
 * The value with one place removed, added or replaced, with a description of the change. What is deeper than four levels belongs
 * to another definition, which has values of its own.
 */
export function* mutations(value: unknown, path = '', levels = 4): Generator<{ change: string; value: unknown }> {
  for (const other of others) yield { change: `${path} = ${JSON.stringify(other)}`, value: other }
  if (typeof value !== 'object' || value === null || levels === 0) return
  for (const [key, item] of Object.entries(value)) {
    const copy = (changed: unknown) =>
      Array.isArray(value) ? Object.assign([...value], { [key]: changed }) : { ...value, [key]: changed }
    for (const inner of mutations(item, `${path}/${key}`, levels - 1))
      yield { change: inner.change, value: copy(inner.value) }
    if (Array.isArray(value)) continue
    const { [key]: _, ...rest } = value as Record<string, unknown>
    yield { change: `${path}/${key} removed`, value: rest }
  }
  if (!Array.isArray(value)) yield { change: `${path}/unknown added`, value: { ...value, unknown: 1 } }
}
