import type { JsonSchema } from '../../../schema/json-schema.ts'
import { isObject, omit } from '../../../util/objects.ts'
import { mapSubschemas, resolveLocalRef } from '../../../util/schema-walk.ts'
import { intersect } from './combine.ts'
import type { NoteList } from './notes.ts'
import { typesOf } from './subschemas.ts'

/** How often a reference may be open at the same time: a recursive schema is unfolded this many levels. */
const maxUnfolded = 2

/** Bounds the work: references that name each other twice double the schema with each level. */
const maxSubschemas = 5_000

const maxDepth = 40

/** Keywords that only serve references. */
const referenceKeywords = ['$ref', '$defs', 'definitions', '$id', '$schema', '$anchor', '$dynamicAnchor', '$comment']

/**
 * Returns a copy of a schema in which `$ref`s are replaced by what they refer to. Recursive references end after a few levels;
 * references to other documents allow anything, because nothing is fetched.
 */
export function inlineRefs(root: JsonSchema, notes: NoteList): JsonSchema {
  const inlined = new Inliner(root, notes).inline(root, '', [], 0)
  return isObject(inlined) ? inlined : {}
}

class Inliner {
  readonly #root: JsonSchema
  readonly #notes: NoteList
  /** References that have a note already. */
  readonly #inlined = new Set<string>()
  #subschemas = 0

  constructor(root: JsonSchema, notes: NoteList) {
    this.#root = root
    this.#notes = notes
  }

  /** @param open The references that led here. */
  inline(schema: unknown, path: string, open: readonly string[], depth: number): unknown {
    if (!isObject(schema)) return schema
    if (++this.#subschemas > maxSubschemas || depth > maxDepth) {
      this.#notes.add(path, 'replaced by a schema that allows anything: the schema is too large or too deep')
      return {}
    }
    const { $ref } = schema
    const own = mapSubschemas(omit(schema, referenceKeywords), (each, _keyword, part) =>
      this.inline(each, path + part, open, depth + 1),
    )
    if (typeof $ref !== 'string') {
      if (schema.$dynamicRef !== undefined) this.#notes.add(path, 'removed $dynamicRef, which models do not know')
      return omit(own, ['$dynamicRef'])
    }
    // Keywords beside a reference apply too (JSON Schema 2020-12).
    const target = this.#follow($ref, path, open, depth)
    return isObject(target) ? intersect(own, target) : target
  }

  #follow(ref: string, path: string, open: readonly string[], depth: number): unknown {
    const found = resolveLocalRef(this.#root, ref)
    const name = JSON.stringify(ref.slice(0, 200))
    if (found === undefined) {
      this.#notes.add(path, `replaced the reference ${name} by a schema that allows anything: it is not in this schema`)
      return {}
    }
    if (isObject(found) && open.filter((each) => each === ref).length >= maxUnfolded) {
      this.#notes.add(path, `cut the recursive reference ${name} after ${maxUnfolded} levels`)
      return cutOff(found, ref)
    }
    if (!this.#inlined.has(ref)) this.#notes.add(path, `inlined the reference ${name}`)
    this.#inlined.add(ref)
    return this.inline(found, path, [...open, ref], depth + 1)
  }
}

/** What is left of a recursive schema where it was cut. */
function cutOff(schema: JsonSchema, ref: string): JsonSchema {
  const types = typesOf(schema)
  const name = ref.split('/').at(-1)?.slice(0, 100)
  const like = name && name !== '#' ? name : 'the whole input'
  return { ...(types && { type: schema.type }), description: `Nested further, in the same way as ${like}.` }
}
