import type { JsonSchema } from '../../../schema/json-schema.ts'
import { isObject, omit } from '../../../util/objects.ts'
import { intersect, strings, unite } from './combine.ts'
import type { NoteList } from './notes.ts'
import type { Converted } from './restore.ts'
import { typesOf } from './subschemas.ts'

/** More alternatives are not listed one by one. */
const maxAlternatives = 50

/**
 * Makes an object schema without a union at its root, because no API takes anything else
 * (github.com/langchain-ai/langchainjs/issues/9804, github.com/anthropics/claude-code/issues/5973).
 */
export function toObjectRoot(root: JsonSchema, notes: NoteList): Converted {
  const merged = mergeAllOf(root, '', notes)
  const alternatives = alternativesOf(merged)
  if (!isObjectLike(merged) || !alternatives.every(isObjectLike)) return wrap(merged, notes)
  const united = alternatives.length > 0 ? uniteRoot(merged, alternatives, notes) : merged
  const banned = ['enum', 'const', 'not'].filter((keyword) => Object.hasOwn(united, keyword))
  for (const keyword of banned) notes.add('', `removed ${keyword}, which is not allowed at the root`)
  if (united.type !== 'object') notes.add('', 'set the type of the root to object')
  return { schema: { ...omit(united, banned), type: 'object' } }
}

/** Merges the schemas of `allOf` into one. */
export function mergeAllOf(schema: JsonSchema, path: string, notes: NoteList): JsonSchema {
  if (!Array.isArray(schema.allOf)) return schema
  notes.add(path, 'merged the schemas of allOf into one')
  return schema.allOf
    .filter(isObject)
    .map((part) => mergeAllOf(part, path, notes))
    .reduce<JsonSchema>(intersect, omit(schema, ['allOf']))
}

function alternativesOf({ anyOf, oneOf }: JsonSchema): readonly JsonSchema[] {
  return [anyOf, oneOf].flatMap((list) => (Array.isArray(list) ? list.filter(isObject) : []))
}

function isObjectLike(schema: JsonSchema): boolean {
  return typesOf(schema)?.includes('object') ?? true
}

/** Joins the alternatives of the root, and describes in words what the joined schema no longer says. */
function uniteRoot(schema: JsonSchema, alternatives: readonly JsonSchema[], notes: NoteList): JsonSchema {
  const base = omit(schema, ['anyOf', 'oneOf'])
  notes.add('', `joined the ${alternatives.length} alternatives at the root, and described them in the description`)
  const merged = alternatives.map((branch) => mergeAllOf(branch, '', notes))
  const united = intersect(base, unite(merged))
  const words = merged.slice(0, maxAlternatives).map(describe)
  const more = merged.length > maxAlternatives ? ['others'] : []
  const listed = [...words, ...more].filter((text) => text !== '')
  const choices = listed.length > 1 ? `Use one of these combinations of properties: ${listed.join('; or ')}.` : ''
  const description = [base.description, choices].filter((text) => typeof text === 'string' && text !== '').join('\n')
  return { ...united, ...(description !== '' && { description }) }
}

function describe(branch: JsonSchema): string {
  const properties = isObject(branch.properties) ? branch.properties : {}
  const required = new Set(strings(branch.required))
  const names = new Set([...required, ...Object.keys(properties)])
  return [...names]
    .slice(0, 20)
    .map((name) => {
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined
      const fixed = isObject(property) && property.const !== undefined ? ` = ${JSON.stringify(property.const)}` : ''
      return `${name}${fixed}${required.has(name) ? '' : ' (optional)'}`
    })
    .join(', ')
}

/** Puts a schema that is not for objects under a property. */
function wrap(schema: JsonSchema, notes: NoteList): Converted {
  notes.add('', 'wrapped the schema in an object with the property "value"')
  return {
    schema: { type: 'object', properties: { value: schema }, required: ['value'] },
    restore: (value) => (isObject(value) ? value.value : value),
  }
}
