import { isObject, type JsonObject } from '../util/objects.ts'
import type { JsonSchema } from './json-schema.ts'
import { faultOf, isKnown, subschemasOf } from './keywords.ts'
import type { Shape } from './run.ts'
import { SchemaError } from './schema-error.ts'
import { ALL_TYPES, equal, escapeToken, isDeeper, show } from './values.ts'

/** A subschema at its place: the same object used twice is two places, each with its own base URI. */
export interface Place {
  schema: JsonSchema | boolean
  /** A JSON Pointer from the root of its document; in a document that was handed in, after `uri#`. */
  at: string
  /** The URI that its references start from: of the closest schema around it that has one. */
  base: string
  /** Whether it has a URI of its own, inside of a schema with another one. */
  embedded: boolean
  /** Whether its dialect is draft-07; 2020-12 otherwise. */
  draft07: boolean
  depth: number
  /** The keywords that its dialect knows, with their values. */
  keywords: Map<string, unknown>
  /** The subschemas of each keyword, with their keys where there are several. */
  parts: Map<string, [key: string | undefined, place: Place][]>
  /** The places that are applied to the same value as this one. */
  inPlace: Place[]
  shape: Shape
}

/** All the schemas at hand: the one to compile, what is embedded in it and the caller's documents. */
export class Library {
  readonly root: Place
  /** What a `$dynamicRef` may end at, by URI and anchor. */
  readonly dynamic = new Map<string, Place>()
  /** By their `at`, by URI and by anchor. */
  readonly #places = new Map<string, Place>()
  readonly #documents: Map<string, unknown>
  readonly #maxDepth: number
  readonly #maxSubschemas: number
  #subschemas = 0

  constructor(schema: unknown, documents: JsonObject, maxDepth: number, maxSubschemas: number) {
    this.#maxDepth = maxDepth
    this.#maxSubschemas = maxSubschemas
    this.#documents = new Map(
      Object.entries(documents).map(([uri, document]) => [parseUri(uri, undefined, 'documents')[0], document]),
    )
    this.root = this.#visit(schema, '', { base: ANONYMOUS, draft07: false, depth: -1 })
  }

  /** Finds what a reference names. */
  resolve(from: Place, keyword: string, reference: string): { place: Place; name: string } {
    const at = `${from.at}/${keyword}`
    const [uri, fragment] = parseUri(reference, from.base, at)
    const root = this.#rootOf(uri)
    if (!root) {
      throw new SchemaError(
        `${show(reference)} is not in this schema or in documents, and network references are never fetched; ` +
          'put the schema into $defs or hand it in with the documents option',
        at,
      )
    }
    const name = `${root.base}#${fragment}`
    const place = fragment.startsWith('/') ? this.#follow(root, fragment, at) : this.#places.get(name)
    if (!place) throw new SchemaError(`${keyword} ${show(reference)} points at nothing; add what it names`, at)
    return { place, name }
  }

  #rootOf(uri: string): Place | undefined {
    const name = `${uri}#`
    const { draft07 } = this.root
    for (const [key, document] of this.#documents) {
      if (this.#places.has(name)) break
      // Where no document has this URI, it may be an `$id` somewhere inside of one.
      const wanted = key === uri || !this.#documents.has(uri)
      if (wanted && !this.#places.has(`${key}#`)) this.#visit(document, `${key}#`, { base: key, draft07, depth: -1 })
    }
    return this.#places.get(name)
  }

  #follow(root: Place, fragment: string, at: string): Place | undefined {
    let around = root
    let pointer = root.at
    let value: unknown = root.schema
    for (const token of fragment.slice(1).split('/')) {
      const key = token.replaceAll('~1', '/').replaceAll('~0', '~')
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
      value = (value as JsonObject)[key]
      pointer += `/${escapeToken(key)}`
      around = this.#places.get(pointer) ?? around
    }
    if (around.at === pointer) return around
    // A schema below a keyword nobody knows, which the first walk passed by.
    if (!isSchema(value)) throw new SchemaError('The reference leads to no schema', at)
    return this.#visit(value, pointer, around)
  }

  #visit(schema: unknown, at: string, around: Pick<Place, 'base' | 'draft07' | 'depth'>): Place {
    if (!isSchema(schema)) throw new SchemaError(`A schema must be an object, true or false, not ${show(schema)}`, at)
    const keywords = isObject(schema) ? schema : {}
    const depth = around.depth + 1
    if (depth > this.#maxDepth) throw tooDeep('The schema', this.#maxDepth, at)
    if (++this.#subschemas > this.#maxSubschemas) {
      throw new SchemaError(`The schema has more than ${this.#maxSubschemas} subschemas; raise maxSubschemas`, at)
    }
    const draft07 = isDraft07(keywords.$schema, around.draft07, at)
    // In draft-07 a $ref makes everything beside it meaningless, $id included.
    const id = draft07 && keywords.$ref !== undefined ? undefined : keywords.$id
    const [base, anchor] = typeof id === 'string' ? parseUri(id, around.base, at) : [around.base, '']
    const embedded = depth > 0 && base !== around.base
    const place: Place = {
      schema,
      at,
      base,
      embedded,
      draft07,
      depth,
      keywords: new Map(),
      parts: new Map(),
      inPlace: [],
      shape: { types: ALL_TYPES, checks: [] },
    }
    this.#name(at, place)
    if (embedded || depth === 0) this.#name(`${base}#`, place)
    if (anchor !== '' && !draft07) throw new SchemaError('$id must not have a fragment; use $anchor', at)
    if (anchor !== '' && !anchor.startsWith('/')) this.#name(`${base}#${anchor}`, place)
    this.#visitKeywords(keywords, place)
    return place
  }

  #visitKeywords(keywords: JsonSchema, place: Place): void {
    const { base, draft07 } = place
    for (const [keyword, value] of Object.entries(keywords)) {
      if (value === undefined || !isKnown(keyword, draft07)) continue
      const at = `${place.at}/${keyword}`
      const fault = faultOf(keyword, value, draft07)
      if (fault) throw new SchemaError(fault, at)
      if ((keyword === 'const' || keyword === 'enum') && isDeeper(value, this.#maxDepth)) {
        throw tooDeep(keyword, this.#maxDepth, at)
      }
      if (keyword === '$anchor' || keyword === '$dynamicAnchor') this.#name(`${base}#${value}`, place)
      if (keyword === '$dynamicAnchor') this.dynamic.set(`${base}#${value}`, place)
      place.keywords.set(keyword, value)
      const parts = subschemasOf(keyword, value).map(([key, schema]): [string | undefined, Place] => [
        key,
        this.#visit(schema, key === undefined ? at : `${at}/${escapeToken(key)}`, place),
      ])
      place.parts.set(keyword, parts)
    }
  }

  #name(name: string, place: Place): void {
    const other = this.#places.get(name)
    if (other && !equal(other.schema, place.schema)) {
      throw new SchemaError(`Two different schemas are named ${show(name.replace(ANONYMOUS, ''))}`, place.at)
    }
    if (!other) this.#places.set(name, place)
  }
}

const ANONYMOUS = 'schema:///'

function isSchema(value: unknown): value is JsonSchema | boolean {
  return isObject(value) || typeof value === 'boolean'
}

function isDraft07(uri: unknown, inherited: boolean, at: string): boolean {
  if (uri === undefined) return inherited
  const [, dialect] = /^https?:\/\/json-schema\.org\/(draft-07|draft\/2020-12)\/schema#?$/.exec(String(uri)) ?? []
  if (dialect) return dialect === 'draft-07'
  throw new SchemaError(`$schema ${show(uri)} is an unsupported dialect; use 2020-12 or draft-07`, at)
}

function parseUri(reference: string, base: string | undefined, at: string): [uri: string, fragment: string] {
  try {
    const [path, fragment = ''] = reference.split('#')
    // A URN cannot be a base for others, but the empty reference is the base itself.
    const uri = base !== undefined && path === '' ? base : new URL(path!, base).href
    return [uri, decodeURIComponent(fragment)]
  } catch (cause) {
    throw new SchemaError(`${show(reference)} is no URI that can be resolved here`, at, { cause })
  }
}

function tooDeep(what: string, limit: number, at: string): SchemaError {
  return new SchemaError(`${what} is nested deeper than ${limit} levels; raise maxSchemaDepth`, at)
}
