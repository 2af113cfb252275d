import { define } from '../util/objects.ts'
import type { JsonSchema } from './json-schema.ts'
import { SchemaError } from './schema-error.ts'
import { escapeToken } from './values.ts'
import { isZod, readZod, withoutEmpty, type ZodNode } from './zod-nodes.ts'

/**
 * Returns the JSON Schema (2020-12) of a zod schema that cannot describe itself: zod 3, its `zod/v4` subpath, zod 4.0
 * and 4.1. `input` describes the values that the schema accepts, `output` those that it returns. The result of a
 * transform is `{}`.
 *
 * @returns undefined if the object is not a zod schema
 * @throws SchemaError if a part of it has no JSON form, such as a Map or a bigint
 */
export function zodToJsonSchema(schema: unknown, io: 'input' | 'output'): JsonSchema | undefined {
  if (!isZod(schema)) return undefined
  const conversion: Conversion = { io, root: schema, visits: new Map(), definitions: {}, names: 0, depth: 0 }
  const json = convert(conversion, schema, '')
  return Object.keys(conversion.definitions).length === 0 ? json : { ...json, $defs: conversion.definitions }
}

interface Conversion {
  io: 'input' | 'output'
  root: object
  /** Schemas that are or were being converted. A recursive one has a reference. */
  visits: Map<object, { open: boolean; reference?: string }>
  definitions: { [name: string]: JsonSchema }
  /** The number of definitions that have a name. */
  names: number
  depth: number
}

const MAX_DEPTH = 128

function convert(conversion: Conversion, schema: object, path: string): JsonSchema {
  const visit = conversion.visits.get(schema)
  if (visit?.open) visit.reference ??= schema === conversion.root ? '#' : `${DEFINITIONS}schema${++conversion.names}`
  if (visit?.reference) return { $ref: visit.reference }
  return convertAfresh(conversion, schema, path)
}

function convertAfresh(conversion: Conversion, schema: object, path: string): JsonSchema {
  if (++conversion.depth > MAX_DEPTH) {
    throw new SchemaError(
      `The zod schema is nested deeper than ${MAX_DEPTH} levels. Return the same object from z.lazy each time.`,
      path,
    )
  }
  const visit: { open: boolean; reference?: string } = { open: true }
  conversion.visits.set(schema, visit)
  const node = readZod(schema)
  const json = { ...convertNode(conversion, node, path), ...node.meta }
  conversion.depth--
  visit.open = false
  if (visit.reference === undefined || schema === conversion.root) return json
  define(conversion.definitions, visit.reference.slice(DEFINITIONS.length), json)
  return { $ref: visit.reference }
}

const DEFINITIONS = '#/$defs/'

function convertNode(conversion: Conversion, node: ZodNode, path: string): JsonSchema {
  switch (node.kind) {
    case 'json':
      return node.json
    case 'transform':
      return {}
    case 'refused':
    case 'undefined':
      throw new SchemaError(
        `zod's ${node.name} has no JSON form. Use a type that JSON can represent, such as a string or a number.`,
        path,
      )
    case 'wrapper':
      return convertWrapper(conversion, node, path)
    case 'array':
      return { type: 'array', items: convert(conversion, node.element, `${path}/items`), ...node.limits }
    case 'tuple':
      return convertTuple(conversion, node, path)
    case 'object':
      return convertObject(conversion, node, path)
    case 'record':
      return convertRecord(conversion, node, path)
    case 'union':
      return convertUnion(conversion, node, path)
    case 'intersection':
      return convertIntersection(conversion, node, path)
    case 'pipe':
      return convert(conversion, pipeSide(node, conversion.io), path)
    case 'lazy':
      return convert(conversion, node.get(), path)
  }
}

type Node<Kind extends ZodNode['kind']> = Extract<ZodNode, { kind: Kind }>

function convertWrapper(conversion: Conversion, node: Node<'wrapper'>, path: string): JsonSchema {
  const json = convert(conversion, node.inner, path)
  if (node.nullable) return { anyOf: [json, { type: 'null' }] }
  const value = node.default && (conversion.io === 'input' || !node.inputOnly) ? toJson(node.default()) : undefined
  return value === undefined ? json : { ...json, default: value }
}

function toJson(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value))
  } catch {
    return undefined
  }
}

function convertTuple(conversion: Conversion, node: Node<'tuple'>, path: string): JsonSchema {
  const { items, rest } = node
  const prefixItems = items.map((item, index) => convert(conversion, item, `${path}/prefixItems/${index}`))
  const needed = items.findLastIndex((item) => !isOptional(item, conversion.io)) + 1
  return withoutEmpty({
    type: 'array',
    prefixItems,
    items: rest ? convert(conversion, rest, `${path}/items`) : false,
    minItems: needed || undefined,
  })
}

function convertObject(conversion: Conversion, node: Node<'object'>, path: string): JsonSchema {
  const properties: JsonSchema = {}
  for (const [key, schema] of Object.entries(node.shape)) {
    define(properties, key, convert(conversion, schema, `${path}/properties/${escapeToken(key)}`))
  }
  const required = Object.keys(node.shape).filter((key) => !isOptional(node.shape[key]!, conversion.io))
  return withoutEmpty({ type: 'object', properties, required, additionalProperties: otherKeys(conversion, node, path) })
}

function otherKeys(conversion: Conversion, { extra }: Node<'object'>, path: string): JsonSchema | boolean | undefined {
  if (typeof extra === 'object') return convert(conversion, extra, `${path}/additionalProperties`)
  if (extra === undefined) return conversion.io === 'output' ? false : undefined
  return extra && {}
}

function convertRecord(conversion: Conversion, node: Node<'record'>, path: string): JsonSchema {
  const key = node.keys ? { enum: node.keys } : toNames(convert(conversion, node.key, `${path}/propertyNames`))
  const needed = node.exhaustive && node.keys && !isOptional(node.value, conversion.io)
  return withoutEmpty({
    type: 'object',
    propertyNames: key,
    additionalProperties: convert(conversion, node.value, `${path}/additionalProperties`),
    required: needed ? node.keys : undefined,
  })
}

/** Returns the schema of keys, which are strings in JSON. Undefined if any string is valid. */
function toNames(json: JsonSchema): JsonSchema | undefined {
  if (json.type === 'number' || json.type === 'integer') return { pattern: '^-?\\d+(?:\\.\\d+)?$' }
  const { type, ...rest } = json
  if (type !== undefined && type !== 'string') return json
  return Object.keys(rest).length === 0 ? undefined : rest
}

function convertUnion(conversion: Conversion, { options }: Node<'union'>, path: string): JsonSchema {
  // In JSON an undefined value is an absent property, which the enclosing object handles.
  const defined = options.filter((option) => readZod(option).kind !== 'undefined')
  const anyOf = defined.map((option, index) => convert(conversion, option, `${path}/anyOf/${index}`))
  if (anyOf.length === 0) return { not: {} }
  return anyOf.length === 1 ? anyOf[0]! : { anyOf }
}

function convertIntersection(conversion: Conversion, node: Node<'intersection'>, path: string): JsonSchema {
  const sides = [node.left, node.right].map((side, index) => convert(conversion, side, `${path}/allOf/${index}`))
  // A closed side would reject the keys of the other side, so only the intersection can be closed.
  const opened = sides.map((side) =>
    Object.fromEntries(
      Object.entries(side).filter(
        ([key, value]) => value !== false || !/^(additional|unevaluated)Properties$/.test(key),
      ),
    ),
  )
  return { allOf: opened, ...(sides.every(isClosed) && { unevaluatedProperties: false }) }
}

function isClosed(json: JsonSchema): boolean {
  return json.additionalProperties === false || json.unevaluatedProperties === false
}

function pipeSide(node: Node<'pipe'>, io: 'input' | 'output'): object {
  // The input of a preprocess step is unknown, so its output is the best description available.
  const startsWithTransform = readZod(node.in).kind === 'transform'
  return io === 'output' || startsWithTransform ? node.out : node.in
}

/** Whether a property with this schema may be absent. */
export function isOptional(schema: object, io: 'input' | 'output', depth = 0): boolean {
  const node = readZod(schema)
  if (depth > MAX_DEPTH) return false
  switch (node.kind) {
    case 'json':
      return node.optional === true
    case 'undefined':
      return true
    case 'transform':
      return io === 'output'
    case 'wrapper':
      return node.optional?.includes(io) ?? isOptional(node.inner, io, depth + 1)
    case 'union':
      return node.options.some((option) => isOptional(option, io, depth + 1))
    case 'intersection':
      return isOptional(node.left, io, depth + 1) && isOptional(node.right, io, depth + 1)
    case 'pipe':
      return isOptional(pipeSide(node, io), io, depth + 1)
    case 'lazy':
      return isOptional(node.get(), io, depth + 1)
    default:
      return false
  }
}
