import { type Dialect, keywordsOf, SUPPORTED_DIALECTS, standardDialect, withVocabularies } from './dialect.ts'
import type { JsonSchema } from './json-schema.ts'
import { metaschema } from './metaschemas.ts'
import type { Check } from './run.ts'
import { SchemaError } from './schema-error.ts'
import { equal, escapeToken, isDeeper, isObject, show } from './values.ts'

/** A subschema at its place: the same object used twice is two places, each with its own base URI. */
export interface Place {
  schema: JsonSchema | boolean
  /** JSON Pointer from the root of the document. */
  pointer: string
  document: SchemaDocument
  resource: Resource
  dialect: Dialect
  /** Set once it is compiled. */
  check?: Check
  /** The places that are applied to the same value as this one. */
  inPlace: Place[]
}

/** A schema with a URI of its own: a whole document or a subschema with `$id`. */
export interface Resource {
  uri: string
  root: Place
  anchors: Map<string, Place>
  dynamicAnchors: Map<string, Place>
}

/** All the schemas at hand: the one to compile, what is embedded in it, the caller's documents and the metaschemas. */
export class Library {
  readonly #resources = new Map<string, Resource>()
  readonly #documents = new Map<string, JsonSchema | boolean>()
  readonly #limits: Limits
  #defaultDialect: Dialect | undefined
  #subschemas = 0

  constructor(documents: Record<string, JsonSchema | boolean>, limits: Limits) {
    this.#limits = limits
    for (const [uri, schema] of Object.entries(documents)) {
      this.#documents.set(parseUri(uri, undefined, `documents[${show(uri)}]`).uri, schema)
    }
  }

  get resources(): Iterable<Resource> {
    return this.#resources.values()
  }

  /** Adds the schema to compile; documents without `$schema` follow its dialect. */
  addRoot(schema: JsonSchema | boolean, dialect: Dialect): Place {
    const root = this.#addDocument(schema, ANONYMOUS, dialect)
    this.#defaultDialect = root.dialect
    return root
  }

  /** The place of a keyword's subschema. */
  child(place: Place, ...tokens: (string | number)[]): Place {
    const pointer = [place.pointer, ...tokens.map(escapeToken)].join('/')
    return place.document.places.get(pointer)!
  }

  /** Finds what a reference names. */
  resolve(place: Place, keyword: string, reference: string): Target {
    const at = describe(place, keyword)
    const { uri, fragment } = parseUri(reference, place.resource.uri, at)
    const resource = this.#resource(uri)
    if (!resource) throw new SchemaError(unresolved(reference), at)
    const target = this.#find(resource, fragment, at)
    if (!target) throw new SchemaError(`${keyword} ${show(reference)} points at nothing; add what it names`, at)
    return { place: target, resource, fragment }
  }

  #resource(uri: string): Resource | undefined {
    const known = this.#resources.get(uri)
    if (known) return known
    const schema = this.#documents.get(uri) ?? metaschema(uri)
    if (schema !== undefined) this.#addDocument(schema, uri, this.#defaultDialect!)
    else this.#addAllDocuments()
    return this.#resources.get(uri)
  }

  // The URI may be an `$id` somewhere inside a document that was handed in under another one.
  #addAllDocuments(): void {
    for (const [uri, schema] of this.#documents) {
      if (!this.#resources.has(uri)) this.#addDocument(schema, uri, this.#defaultDialect!)
    }
  }

  #find(resource: Resource, fragment: string, at: string): Place | undefined {
    if (fragment === '') return resource.root
    if (!fragment.startsWith('/')) return resource.anchors.get(fragment)
    const pointer = resource.root.pointer + fragment
    const { places } = resource.root.document
    return places.get(pointer) ?? this.#findElsewhere(resource.root, fragment, at)
  }

  // A pointer may lead to a schema below a keyword nobody knows, which the first walk passed by.
  #findElsewhere(root: Place, fragment: string, at: string): Place | undefined {
    let around = root
    let pointer = root.pointer
    let value: unknown = root.schema
    for (const token of fragment.slice(1).split('/')) {
      const key = token.replaceAll('~1', '/').replaceAll('~0', '~')
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
      value = (value as JsonSchema)[key]
      pointer += `/${escapeToken(key)}`
      around = root.document.places.get(pointer) ?? around
    }
    if (!isObject(value) && typeof value !== 'boolean') throw new SchemaError('The reference leads to no schema', at)
    const known = root.document.places.get(pointer)
    const { document, dialect, resource } = around
    return known ?? this.#visit(value, { document, dialect, resource, pointer, depth: depthOf(pointer) })
  }

  #addDocument(schema: unknown, uri: string, dialect: Dialect): Place {
    const document: SchemaDocument = { uri: uri === ANONYMOUS ? '' : `${uri}#`, places: new Map() }
    return this.#visit(schema, { document, pointer: '', dialect, resource: undefined, base: uri, depth: 0 })
  }

  #visit(schema: unknown, from: Position): Place {
    const at = from.document.uri + from.pointer
    if (!isObject(schema) && typeof schema !== 'boolean') {
      throw new SchemaError(`A schema must be an object, true or false, not ${show(schema)}`, at)
    }
    this.#checkLimits(from, at)
    const dialect = this.#dialectOf(schema, from.dialect, at)
    const place = { schema, pointer: from.pointer, document: from.document, dialect, inPlace: [] } as unknown as Place
    from.document.places.set(from.pointer, place)
    place.resource = this.#resourceOf(place, from, at)
    if (isObject(schema)) this.#visitKeywords(schema, place, from)
    return place
  }

  #checkLimits({ depth }: Position, at: string): void {
    const { maxSchemaDepth, maxSubschemas } = this.#limits
    if (depth > maxSchemaDepth) {
      throw new SchemaError(`The schema is nested deeper than ${maxSchemaDepth} levels; raise maxSchemaDepth`, at)
    }
    if (++this.#subschemas > maxSubschemas) {
      throw new SchemaError(`The schema has more than ${maxSubschemas} subschemas; raise maxSubschemas`, at)
    }
  }

  #visitKeywords(schema: JsonSchema, place: Place, from: Position): void {
    const { document, dialect, resource } = place
    const known = keywordsOf(dialect)
    const depth = from.depth + 1
    for (const [name, value] of Object.entries(schema)) {
      const keyword = known.get(name)
      if (!keyword || value === undefined) continue
      const at = describe(place, name)
      const fault = keyword.fault?.(value)
      if (fault) throw new SchemaError(`${name} ${fault}`, at)
      if ((name === 'const' || name === 'enum') && isDeeper(value, this.#limits.maxSchemaDepth)) {
        throw new SchemaError(`${name} is nested deeper than ${this.#limits.maxSchemaDepth} levels`, at)
      }
      if (!keyword.holds) continue
      for (const [tokens, subschema] of subschemasOf(name, keyword.holds, value, at)) {
        const pointer = [place.pointer, name, ...tokens.map(escapeToken)].join('/')
        this.#visit(subschema, { document, dialect, resource, pointer, depth })
      }
    }
  }

  #dialectOf(schema: JsonSchema | boolean, inherited: Dialect, at: string): Dialect {
    const uri = isObject(schema) ? schema.$schema : undefined
    if (uri === undefined) return inherited
    if (typeof uri !== 'string') throw new SchemaError('$schema must be a string', at)
    return this.#namedDialect(uri, at, MAX_METASCHEMAS)
  }

  #namedDialect(uri: string, at: string, remaining: number): Dialect {
    const standard = standardDialect(uri)
    if (standard) return standard
    const custom = URL.canParse(uri) ? this.#documents.get(parseUri(uri, undefined, at).uri) : undefined
    if (!isObject(custom) || remaining === 0) throw unsupportedDialect(uri, at)
    const base = this.#namedDialect(String(custom.$schema ?? LATEST), at, remaining - 1)
    const dialect = isObject(custom.$vocabulary) ? withVocabularies(base, custom.$vocabulary) : base
    if (typeof dialect !== 'string') return { ...dialect, metaschema: custom }
    throw new SchemaError(`The dialect ${show(uri)} requires the unknown vocabulary ${show(dialect)}`, at)
  }

  #resourceOf(place: Place, from: Position, at: string): Resource {
    const { draft } = place.dialect
    const schema: JsonSchema = isObject(place.schema) ? place.schema : {}
    // Up to draft-07 a $ref makes everything beside it meaningless, $id included.
    const id = draft <= 7 && schema.$ref !== undefined ? undefined : schema.$id
    const { uri, fragment } = this.#parseId(id, from, at)
    if (fragment !== '' && draft > 7) throw new SchemaError('$id must not have a fragment; use $anchor', at)
    let resource = from.resource
    if (!resource || uri !== resource.uri) {
      resource = { uri, root: place, anchors: new Map(), dynamicAnchors: new Map() }
      this.#register(resource, uri, at)
      if (from.base !== undefined) this.#register(resource, from.base, at)
    }
    addAnchors(resource, place, fragment, at)
    return resource
  }

  #parseId(id: unknown, from: Position, at: string): { uri: string; fragment: string } {
    const base = from.resource?.uri ?? from.base ?? ANONYMOUS
    return typeof id === 'string' ? parseUri(id, base, at) : { uri: base, fragment: '' }
  }

  #register(resource: Resource, uri: string, at: string): void {
    const other = this.#resources.get(uri)
    if (other && !equal(other.root.schema, resource.root.schema)) {
      throw new SchemaError(`Two different schemas have the URI ${show(uri)}; give each its own $id`, at)
    }
    if (!other) this.#resources.set(uri, resource)
  }
}

interface Limits {
  maxSchemaDepth: number
  maxSubschemas: number
}

interface SchemaDocument {
  /** Prefix of the pointers in error messages. */
  uri: string
  places: Map<string, Place>
}

interface Target {
  place: Place
  resource: Resource
  fragment: string
}

interface Position {
  document: SchemaDocument
  pointer: string
  dialect: Dialect
  resource: Resource | undefined
  /** The URI of the document, for its root. */
  base?: string
  depth: number
}

const ANONYMOUS = 'schema:///'
const LATEST = 'https://json-schema.org/draft/2020-12/schema'
const MAX_METASCHEMAS = 8

/** Where a keyword is, as errors say it. */
export function describe(place: Place, keyword: string): string {
  return `${place.document.uri}${place.pointer}/${escapeToken(keyword)}`
}

function addAnchors(resource: Resource, place: Place, idFragment: string, at: string): void {
  const schema: JsonSchema = isObject(place.schema) ? place.schema : {}
  const known = keywordsOf(place.dialect)
  const add = (name: unknown) => {
    if (typeof name !== 'string') return
    const other = resource.anchors.get(name)
    if (other && !equal(other.schema, schema)) throw new SchemaError(`Two schemas have the anchor ${show(name)}`, at)
    resource.anchors.set(name, place)
  }
  if (idFragment !== '') add(idFragment)
  if (known.has('$anchor')) add(schema.$anchor)
  if (known.has('$dynamicAnchor') && typeof schema.$dynamicAnchor === 'string') {
    add(schema.$dynamicAnchor)
    resource.dynamicAnchors.set(schema.$dynamicAnchor, place)
  }
  // 2019-09 has one nameless dynamic anchor per resource, at its root.
  if (known.has('$recursiveAnchor') && schema.$recursiveAnchor === true && resource.root === place) {
    resource.dynamicAnchors.set('', place)
  }
}

type Subschema = [tokens: (string | number)[], schema: unknown]

function subschemasOf(name: string, holds: string, value: unknown, at: string): Subschema[] {
  if (holds === 'schema' || (holds === 'schema-or-list' && !Array.isArray(value))) {
    if (Array.isArray(value) && name === 'items') {
      throw new SchemaError('items must be a schema; use prefixItems for a tuple, or name draft-07 in $schema', at)
    }
    return [[[], value]]
  }
  if (holds === 'list' || holds === 'schema-or-list') {
    // An empty tuple is against the metaschemas, but zod writes it and its meaning is plain.
    const tuple = name === 'prefixItems' || name === 'items'
    if (!Array.isArray(value) || (value.length === 0 && !tuple)) {
      throw new SchemaError(`${name} must be a non-empty array`, at)
    }
    return value.map((schema, index) => [[index], schema])
  }
  if (!isObject(value)) throw new SchemaError(`${name} must be an object`, at)
  const entries = Object.entries(value).filter(([, schema]) => schema !== undefined)
  const lists = holds === 'map-or-names' ? entries.filter(([, list]) => Array.isArray(list)) : []
  if (lists.some(([, list]) => (list as unknown[]).some((key) => typeof key !== 'string'))) {
    throw new SchemaError(`${name} must list property names`, at)
  }
  return entries.filter((entry) => !lists.includes(entry)).map(([key, schema]) => [[key], schema])
}

function parseUri(reference: string, base: string | undefined, at: string): { uri: string; fragment: string } {
  try {
    if (base !== undefined && reference.startsWith('#')) {
      return { uri: base, fragment: decodeURIComponent(reference.slice(1)) }
    }
    const url = new URL(reference, base)
    const fragment = decodeURIComponent(url.hash.slice(1))
    url.hash = ''
    return { uri: url.href, fragment }
  } catch (cause) {
    throw new SchemaError(`${show(reference)} is no URI that can be resolved here`, at, { cause })
  }
}

function depthOf(pointer: string): number {
  return pointer.split('/').length - 1
}

function unresolved(reference: string): string {
  return (
    `${show(reference)} is not in this schema, in documents or a metaschema, and network references are never ` +
    'fetched; put the schema into $defs or hand it in with the documents option'
  )
}

function unsupportedDialect(uri: string, at: string): SchemaError {
  return new SchemaError(
    `$schema ${show(uri)} is an unsupported dialect; use one of ${SUPPORTED_DIALECTS}, or hand its metaschema in with the documents option`,
    at,
  )
}
