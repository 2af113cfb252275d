import { McpError } from '../errors.ts'
import type { RevisionId } from '../protocol/revision.ts'
import { revisionIds } from '../protocol/revisions/index.ts'
import type { JsonSchema } from '../schema/json-schema.ts'
import { messagesOf } from './definitions.ts'
import type { Field, Leaf, TypeNode } from './language.ts'
import type { Messages } from './types.ts'

/** How a method is used in a revision. The names are definitions, which `schemaFor` takes. */
export interface MethodMessages<Name extends string = string> {
  readonly kind: 'request' | 'notification'
  /** Who sends it. On 2026-07-28 requests of a server are questions in an `input_required` result. */
  readonly from: 'client' | 'server' | 'any'
  readonly message: Name
  readonly params: Name
  /** Only requests have a result. */
  readonly result?: Name | undefined
}

/**
 * Returns the JSON Schema (2020-12) of a definition of a revision, with the names of the specification: `Tool`, `CallToolRequest`,
 * `CallToolResult` and so on. The schema contains everything that it refers to. Without a name it has all definitions in `$defs`.
 *
 * Objects accept members that they do not name, as the protocol does.
 *
 * @throws McpError with the code `invalid-argument` if the revision does not have the definition
 *
 * @example
 * import { compileJsonSchema } from 'tenon/server'
 * import { schemaFor } from 'tenon/schemas'
 *
 * const check = compileJsonSchema(schemaFor('2025-11-25', 'CallToolResult'))
 * check({ content: 'text' }) // [{ path: '/content', message: 'must be an array, got string' }]
 */
export function schemaFor<Revision extends RevisionId>(
  revision: Revision,
  name?: keyof Messages[Revision] & string,
): JsonSchema {
  const all = definitionsOf(revision)
  if (name === undefined) return { $schema: dialect, $defs: { ...all } }
  if (!Object.hasOwn(all, name)) {
    const text = `${revision} has no definition "${name}". Object.keys(schemaFor('${revision}').$defs) lists them.`
    throw new McpError('invalid-argument', text)
  }
  return { $schema: dialect, $ref: `#/$defs/${name}`, $defs: reachable(all, name) }
}

/**
 * Returns the requests and notifications of a revision by their method, with the names of their definitions.
 *
 * @example
 * methodsOf('2025-11-25')['tools/call'] // { kind: 'request', from: 'client', message: 'CallToolRequest', ... }
 */
export function methodsOf<Revision extends RevisionId>(
  revision: Revision,
): Readonly<Record<string, MethodMessages<keyof Messages[Revision] & string>>> {
  type Name = keyof Messages[Revision] & string
  const entries = messagesOf(known(revision)).messages.map(({ method, kind, from, name, params, result }) => {
    const names = { message: name as Name, params: params as Name, ...(result && { result: result as Name }) }
    return [method, { kind, from, ...names }] as const
  })
  return Object.fromEntries(entries)
}

const dialect = 'https://json-schema.org/draft/2020-12/schema'
const kept = new Map<RevisionId, Record<string, JsonSchema>>()

function definitionsOf(revision: RevisionId): Record<string, JsonSchema> {
  const schemas = kept.get(known(revision)) ?? toSchemas(revision)
  kept.set(revision, schemas)
  return schemas
}

function known(revision: RevisionId): RevisionId {
  if (revisionIds.includes(revision)) return revision
  const text = `"${revision}" is not a revision of the protocol. Choose from ${revisionIds.join(', ')}.`
  throw new McpError('invalid-argument', text)
}

function toSchemas(revision: RevisionId): Record<string, JsonSchema> {
  const schemas: Record<string, JsonSchema> = {}
  for (const [name, { type, doc, isBase }] of messagesOf(revision).definitions)
    if (!isBase) schemas[name] = { ...(doc !== undefined && { description: doc }), ...toSchema(type) }
  return schemas
}

/** The definition and those that it refers to, also by others. */
function reachable(all: Record<string, JsonSchema>, name: string): Record<string, JsonSchema> {
  const found: Record<string, JsonSchema> = {}
  const add = (each: string) => {
    if (found[each]) return
    found[each] = all[each]!
    for (const [, next] of JSON.stringify(all[each]).matchAll(/"\$ref":"#\/\$defs\/(\w+)"/g)) add(next!)
  }
  add(name)
  return found
}

const leafSchemas: Record<Leaf, JsonSchema> = {
  string: { type: 'string' },
  number: { type: 'number' },
  integer: { type: 'integer' },
  boolean: { type: 'boolean' },
  null: { type: 'null' },
  object: { type: 'object' },
  unknown: {},
  uri: { type: 'string', format: 'uri' },
  'uri-template': { type: 'string', format: 'uri-template' },
  base64: { type: 'string', format: 'byte' },
}

function toSchema(type: TypeNode): JsonSchema {
  switch (type.kind) {
    case 'leaf': {
      const { name, min, max } = type
      const limits = { ...(min !== undefined && { minimum: min }), ...(max !== undefined && { maximum: max }) }
      return { ...leafSchemas[name], ...limits }
    }
    case 'literals': {
      const { values } = type
      const kind = typeof values[0] === 'string' ? 'string' : 'integer'
      return values.length === 1 ? { type: kind, const: values[0] } : { type: kind, enum: values }
    }
    case 'name':
      return { $ref: `#/$defs/${type.name}` }
    case 'array':
      return { type: 'array', items: toSchema(type.items), ...(type.max !== undefined && { maxItems: type.max }) }
    case 'map':
      return { type: 'object', additionalProperties: toSchema(type.values) }
    case 'union':
      return { anyOf: type.members.map(toSchema) }
    case 'object':
      return objectSchema(type.fields)
  }
}

function objectSchema(fields: readonly Field[]): JsonSchema {
  const properties: Record<string, JsonSchema> = {}
  for (const { name, type, doc } of fields)
    properties[name] = { ...toSchema(type), ...(doc !== undefined && { description: doc }) }
  const required = fields.filter(({ optional }) => !optional).map(({ name }) => name)
  return { type: 'object', properties, ...(required.length > 0 && { required }) }
}
