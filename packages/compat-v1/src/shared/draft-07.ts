import { isObject, type JsonObject, mapSubschemas } from 'tenon/internal'

/**
 * Rewrites a JSON Schema of a zod 3 schema as programs for version 1 of the official SDK publish it: in draft-07, with
 * objects that name no other keys closed, and with short unions as a list of types or values.
 */
export function toDraft07(schema: JsonObject): JsonObject {
  return { ...rewrite(schema, zod3Rule), $schema: DRAFT_07 }
}

/** The URI of the dialect. */
export const DRAFT_07 = 'http://json-schema.org/draft-07/schema#'

/** Rewrites the tuples of a JSON Schema of 2020-12, which is what differs between the two for zod 4. */
export function withDraft07Tuples(schema: JsonObject): JsonObject {
  return rewrite(schema, toTuple)
}

/** Rewrites one schema whose parts were rewritten before. */
type Rule = (schema: JsonObject, isPartOfAll: boolean) => JsonObject

const zod3Rule: Rule = (schema, isPartOfAll) =>
  withShortUnion(withTuple(isPartOfAll ? schema : withClosedObject(schema)))

function rewrite(schema: JsonObject, rule: Rule, isPartOfAll = false): JsonObject {
  const parts = mapSubschemas(schema, (part, keyword) =>
    // A closed object in allOf would reject the keys of the other members.
    isObject(part) ? rewrite(part, rule, keyword === 'allOf') : part,
  )
  return rule(parts, isPartOfAll)
}

function withClosedObject(schema: JsonObject): JsonObject {
  if (schema.type !== 'object' || !isObject(schema.properties)) return schema
  const { additionalProperties = false, ...rest } = schema
  const isOpen = isObject(additionalProperties) && Object.keys(additionalProperties).length === 0
  return { ...rest, additionalProperties: isOpen ? true : additionalProperties }
}

function toTuple({ prefixItems, items, ...schema }: JsonObject): JsonObject {
  if (!prefixItems) return items === undefined ? schema : { ...schema, items }
  return { ...schema, items: prefixItems, ...(items !== undefined && { additionalItems: items }) }
}

function withTuple(schema: JsonObject): JsonObject {
  if (!Array.isArray(schema.prefixItems)) return schema
  const { prefixItems, items, minItems: _min, ...rest } = schema
  const length = schema.prefixItems.length
  return items === false
    ? { ...rest, minItems: length, maxItems: length, items: prefixItems }
    : { ...rest, minItems: length, items: prefixItems, additionalItems: items }
}

function withShortUnion(schema: JsonObject): JsonObject {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf) || !anyOf.every(isObject)) return schema
  if (anyOf.every(({ type, ...others }) => PRIMITIVES.has(type) && isEmpty(others))) {
    return { type: unique(anyOf.map(({ type }) => type)), ...rest }
  }
  const isLiteral = ({ type, const: value, ...others }: JsonObject) => type && value !== undefined && isEmpty(others)
  if (!anyOf.every(isLiteral)) return schema
  return { type: unique(anyOf.map(({ type }) => type)), enum: anyOf.map((member) => member.const), ...rest }
}

const PRIMITIVES = new Set<unknown>(['string', 'number', 'integer', 'boolean', 'null'])

function unique(types: unknown[]): unknown {
  const different = [...new Set(types)]
  return different.length === 1 ? different[0] : different
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0
}
