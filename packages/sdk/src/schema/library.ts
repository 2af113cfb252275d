import { isObject, type JsonObject } from '../util/objects.ts'
import type { JsonSchema } from './json-schema.ts'
import { faultOf, isKnown, subschemasOf } from './keywords.ts'
import type { Shape } from './run.ts'
import { SchemaError } from './schema-error.ts'
import { ALL_TYPES, equal, escapeToken, isDeeper, show } from './values.ts'

/** A subschema at one location. An object that is used twice is two places, each with its own base URI. */
export interface Place {
  schema: JsonSchema | boolean
  /** A JSON Pointer from the root of the document, prefixed with `uri#` in a document of the caller. */
  at: string
  /** The base URI of its references: that of the closest enclosing schema that has one. */
  base: string
  /** Whether it has its own URI inside a schema with another one. */
  embedded: boolean
  /** Whether its dialect is draft-07; 2020-12 otherwise. */
  draft07: boolean
  depth: number
  /** The keywords that its dialect supports, with their values. */
  keywords: Map<string, unknown>
  /** The subschemas of each keyword, with their keys if there are several. */
  parts: Map<string, [key: string | undefined, place: Place][]>
  /** The places that apply to the same value as this one. */
  inPlace: Place[]
  /** Whether an unusable part of it is skipped. */
  isPartial: boolean
  shape: Shape
}

interface LibraryOptions {
  documents: JsonObject
  maxSchemaDepth: number
  maxSubschemas: number
  onSkip: ((reason: SchemaError) => void) | undefined
}

/** All available schemas: the one to compile, those embedded in it, and the documents of the caller. */
export class Library {
  readonly root: Place
  /** The possible targets of a `$dynamicRef`, by URI and anchor. */
  readonly dynamic = new Map<string, Place>()
  /** By pointer (`at`), by URI and by anchor. */
  readonly #places = new Map<string, Place>()
  readonly #documents: Map<string, unknown>
  readonly #maxDepth: number
  readonly #maxSubschemas: number
  readonly #onSkip: LibraryOptions['onSkip']
  #subschemas = 0

  constructor(schema: unknown, { documents, maxSchemaDepth, maxSubschemas, onSkip }: LibraryOptions) {
    this.#maxDepth = maxSchemaDepth
    this.#maxSubschemas = maxSubschemas
    this.#onSkip = onSkip
    this.#documents = new Map(
      Object.entries(documents).map(([uri, document]) => [parseUri(uri, undefined, 'documents')[0], document]),
    )
    this.root = this.#visit(schema, '', { base: ANONYMOUS, draft07: false, depth: -1 })
  }

  /** Runs a step of the compilation. If it fails on an unusable part, that part is skipped if the caller allows it. */
  attempt<T>(place: Place, step: () => T): T | undefined {
    try {
      return step()
    } catch (error) {
      if (!this.#onSkip || !(error instanceof SchemaError) || error instanceof LimitError) throw error
      this.#onSkip(error)
      place.isPartial = true
      return undefined
    }
  }

  /** Finds the target of a reference. */
  resolve(from: Place, keyword: string, reference: string): { place: Place; name: string } {
    const at = `${from.at}/${keyword}`
    const [uri, fragment] = parseUri(reference, from.base, at)
    const root = this.#rootOf(uri)
    if (!root) {
      throw new SchemaError(
        `${show(reference)} is not in this schema or in documents, and network references are never fetched. ` +
          'Put the schema into $defs or pass it in the documents option.',
        at,
      )
    }
    const name = `${root.base}#${fragment}`
    const place = fragment.startsWith('/') ? this.#follow(root, fragment, at) : this.#places.get(name)
    if (!place) throw new SchemaError(`${keyword} ${show(reference)} points to nothing. Add its target.`, at)
    return { place, name }
  }

  #rootOf(uri: string): Place | undefined {
    const name = `${uri}#`
    const { draft07 } = this.root
    for (const [key, document] of this.#documents) {
      if (this.#places.has(name)) break
      // If no document has this URI, it may be an `$id` inside one of them.
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
    // A schema below an unknown keyword, which the first walk skips.
    if (!isSchema(value)) throw new SchemaError('The reference does not point to a schema', at)
    return this.#visit(value, pointer, around)
  }

  #visit(schema: unknown, at: string, around: Pick<Place, 'base' | 'draft07' | 'depth'>): Place {
    const { base, draft07 } = around
    const place: Place = {
      schema: isSchema(schema) ? schema : true,
      at,
      base,
      embedded: false,
      draft07,
      depth: around.depth + 1,
      keywords: new Map(),
      parts: new Map(),
      inPlace: [],
      isPartial: false,
      shape: { types: ALL_TYPES, checks: [] },
    }
    if (place.depth > this.#maxDepth) throw tooDeep('The schema', this.#maxDepth, at)
    if (++this.#subschemas > this.#maxSubschemas) {
      throw new LimitError(`The schema has more than ${this.#maxSubschemas} subschemas. Raise maxSubschemas.`, at)
    }
    this.attempt(place, () => {
      if (!isSchema(schema)) throw new SchemaError(`A schema must be an object, true or false, not ${show(schema)}`, at)
      const keywords = isObject(schema) ? schema : {}
      place.draft07 = isDraft07(keywords.$schema, draft07, at)
      this.attempt(place, () => this.#identify(place, keywords, around.base))
      this.#visitKeywords(keywords, place)
    })
    return place
  }

  /** Registers a schema by its URI and its anchor. */
  #identify(place: Place, keywords: JsonSchema, outerBase: string): void {
    const { at, depth, draft07 } = place
    this.#name(at, place)
    // In draft-07 a $ref disables everything beside it, including $id.
    const id = draft07 && keywords.$ref !== undefined ? undefined : keywords.$id
    const [base, anchor] = typeof id === 'string' ? parseUri(id, outerBase, at) : [outerBase, '']
    place.base = base
    place.embedded = depth > 0 && base !== outerBase
    if (place.embedded || depth === 0) this.#name(`${base}#`, place)
    if (anchor !== '' && !draft07) throw new SchemaError('$id must not have a fragment. Use $anchor instead.', at)
    if (anchor !== '' && !anchor.startsWith('/')) this.#name(`${base}#${anchor}`, place)
  }

  #visitKeywords(keywords: JsonSchema, place: Place): void {
    const known = Object.entries(keywords).filter(
      ([name, value]) => value !== undefined && isKnown(name, place.draft07),
    )
    const skipped = known.filter(([name, value]) => !this.attempt(place, () => this.#visitKeyword(name, value, place)))
    for (const [name] of skipped) dropKeyword(name, place)
  }

  #visitKeyword(keyword: string, value: unknown, place: Place): true {
    const { base, draft07 } = place
    const at = `${place.at}/${keyword}`
    const fault = faultOf(keyword, value, draft07)
    if (fault) throw new SchemaError(fault, at)
    if ((keyword === 'const' || keyword === 'enum') && isDeeper(value, this.#maxDepth)) {
      throw tooDeep(keyword, this.#maxDepth, at)
    }
    if (keyword === '$anchor' || keyword === '$dynamicAnchor') this.#name(`${base}#${value}`, place)
    if (keyword === '$dynamicAnchor') this.dynamic.set(`${base}#${value}`, place)
    const parts = subschemasOf(keyword, value).map(([key, schema]): [string | undefined, Place] => [
      key,
      this.#visit(schema, key === undefined ? at : `${at}/${escapeToken(key)}`, place),
    ])
    place.keywords.set(keyword, value)
    place.parts.set(keyword, parts)
    return true
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

/** A schema that is too large or too deep. Skipping a part would not help. */
class LimitError extends SchemaError {}

/** The keywords whose meaning depends on another one. */
const DEPENDENTS: Record<string, string> = {
  properties: 'additionalProperties',
  patternProperties: 'additionalProperties',
  prefixItems: 'items',
  items: 'additionalItems',
  minContains: 'contains',
}

/** Removes a keyword, and the keyword whose meaning depends on it. */
function dropKeyword(keyword: string, { keywords, parts }: Place): void {
  for (const name of [keyword, DEPENDENTS[keyword]!]) {
    keywords.delete(name)
    parts.delete(name)
  }
}

function isSchema(value: unknown): value is JsonSchema | boolean {
  return isObject(value) || typeof value === 'boolean'
}

function isDraft07(uri: unknown, inherited: boolean, at: string): boolean {
  if (uri === undefined) return inherited
  const [, dialect] = /^https?:\/\/json-schema\.org\/(draft-07|draft\/2020-12)\/schema#?$/.exec(String(uri)) ?? []
  if (dialect) return dialect === 'draft-07'
  throw new SchemaError(`$schema ${show(uri)} is an unsupported dialect. Use 2020-12 or draft-07.`, at)
}

function parseUri(reference: string, base: string | undefined, at: string): [uri: string, fragment: string] {
  try {
    const [path, fragment = ''] = reference.split('#')
    // A URN cannot be the base of a relative reference, but an empty reference is the base itself.
    const uri = base !== undefined && path === '' ? base : new URL(path!, base).href
    return [uri, decodeURIComponent(fragment)]
  } catch (cause) {
    throw new SchemaError(`${show(reference)} is not a URI that can be resolved here`, at, { cause })
  }
}

function tooDeep(what: string, limit: number, at: string): LimitError {
  return new LimitError(`${what} is nested deeper than ${limit} levels. Raise maxSchemaDepth.`, at)
}
