import type { JsonSchema } from '../../schema/json-schema.ts'
import { inlineRefs } from './schema/inline-refs.ts'
import { NodeConverter } from './schema/node-converter.ts'
import { NoteList, type SchemaNote } from './schema/notes.ts'
import { inOrder, type Restore } from './schema/restore.ts'
import { toObjectRoot } from './schema/root.ts'
import { type SchemaTarget, targets, withoutStrict } from './schema/targets.ts'

export type { SchemaNote } from './schema/notes.ts'
export type { SchemaTarget } from './schema/targets.ts'

/** A schema as an API takes it. */
export interface DownleveledSchema {
  readonly schema: JsonSchema
  /** Every change that was made. Empty if the API takes the schema as it is. */
  readonly notes: readonly SchemaNote[]
  /** Whether the strict mode of the API takes the schema. False for targets without strict mode. */
  readonly isStrict: boolean
  /** Turns arguments that match this schema into arguments for the original one. */
  readonly restore: Restore
}

/** A larger schema is replaced by one that allows any object. Models are not helped by schemas of this size. */
const maxSchemaChars = 200_000

/**
 * Changes a JSON Schema into one that an API takes for the parameters of a tool, and lists every change.
 *
 * Arguments that match the original schema also match the new one, unless a note says otherwise; the reverse need not hold, so
 * validate the arguments against the original schema. `$schema`, `$id` and `$comment`, which mean nothing to a model, are removed
 * without a note.
 *
 * @example
 * const { schema, notes } = downlevelSchema(tool.inputSchema, 'openai-strict')
 * for (const { path, message } of notes) console.log(`${tool.name}${path}: ${message}`)
 */
export function downlevelSchema(original: JsonSchema, target: SchemaTarget): DownleveledSchema {
  const notes = new NoteList()
  if (!isSmall(original)) {
    notes.add('', `replaced by a schema that allows any object: it has more than ${maxSchemaChars} characters`)
    return { schema: { type: 'object', properties: {} }, notes: notes.list(), isStrict: false, restore: asIs }
  }
  const root = toObjectRoot(inlineRefs(original, notes), notes)
  const converter = new NodeConverter(targets[target], notes)
  const { schema, restore } = converter.convert(root.schema, '', 0)
  if (converter.strictProblem !== undefined) return withoutStrictMode(original, target, converter.strictProblem)
  return {
    schema,
    notes: notes.list(),
    isStrict: targets[target].isStrict,
    restore: inOrder(restore, root.restore) ?? asIs,
  }
}

function withoutStrictMode(original: JsonSchema, target: SchemaTarget, problem: string): DownleveledSchema {
  const relaxed = downlevelSchema(original, withoutStrict(target))
  const note = { path: '', message: `strict mode is not possible: ${problem}` }
  return { ...relaxed, notes: [note, ...relaxed.notes] }
}

function isSmall(schema: JsonSchema): boolean {
  try {
    return JSON.stringify(schema).length <= maxSchemaChars
  } catch {
    // It is nested too deep, or has a cycle.
    return false
  }
}

function asIs(value: unknown): unknown {
  return value
}
