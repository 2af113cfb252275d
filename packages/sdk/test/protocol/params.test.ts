import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { metaKeys } from '../../src/protocol/meta.ts'
import { paramsChecks } from '../../src/protocol/params.ts'
import { isObject, type JsonObject } from '../../src/util/objects.ts'
import { schemas } from '../kit/official-schemas.ts'
import { check, examples } from './params-support.ts'

const cases = Object.entries(examples).flatMap(([method, list]) =>
  list.map((params) => [method, params as JsonObject] as const),
)

const revisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28']

const modernMeta = {
  [metaKeys.protocolVersion]: '2026-07-28',
  [metaKeys.clientCapabilities]: {},
}

describe('paramsChecks', () => {
  it('has a check for every method that has an example', () => {
    expect([...paramsChecks.keys()].sort()).toEqual(Object.keys(examples).sort())
  })

  it.each(cases)('accepts valid params of %s', (method, params) => {
    expect(check(method, params)).toBeUndefined()
  })

  it.each(cases)('accepts unknown members of %s', (method, params) => {
    expect(check(method, { ...params, 'x-new': { deep: [null] } })).toBeUndefined()
  })

  it.each(Object.keys(examples))('accepts an object and refuses anything else as _meta of %s [RPC-028]', (method) => {
    const params = cases.find(([name]) => name === method)?.[1]
    expect(check(method, { ...params, _meta: {} })).toBeUndefined()
    expect(check(method, { ...params, _meta: { 'com.example/x': null } })).toBeUndefined()
    expect(check(method, { ...params, _meta: null })).toBe('params._meta must be an object, got null')
    expect(check(method, { ...params, _meta: [] })).toBe('params._meta must be an object, got array')
  })

  const requests = Object.keys(examples).filter((method) => !method.startsWith('notifications/'))
  it.each(requests)('requires the progress token of %s to be a string or an integer [PROG-001]', (method) => {
    const params = cases.find(([name]) => name === method)?.[1]
    const withToken = (progressToken: unknown) => check(method, { ...params, _meta: { progressToken } })
    expect(withToken('p')).toBeUndefined()
    expect(withToken('')).toBeUndefined()
    expect(withToken(0)).toBeUndefined()
    const rule = 'params._meta.progressToken must be a string or a safe integer'
    expect(withToken(1.5)).toBe(`${rule}, got number`)
    expect(withToken(2 ** 60)).toBe(`${rule}, got number`)
    expect(withToken(null)).toBe(`${rule}, got null`)
  })

  it('ignores a progress token in the _meta of a notification', () => {
    expect(check('notifications/initialized', { _meta: { progressToken: {} } })).toBeUndefined()
  })
})

describe.skipIf(!schemas).each(revisions)('params checks compared with the official schema of %s', (revision) => {
  const schema = loadSchema(revision)

  it.each([...schema.params.keys()])('accepts the valid example of %s', (method) => {
    expect(paramsChecks.has(method)).toBe(true)
    const least = schema.examplesOf(method)[0]!
    expect(schema.accepts(method, least)).toBe(true)
    expect(check(method, least)).toBeUndefined()
  })

  it.each([...schema.params.keys()])('refuses %s without a required member', (method) => {
    for (const example of schema.examplesOf(method)) {
      for (const key of Object.keys(example)) {
        const rest: JsonObject = { ...example }
        delete rest[key]
        // The _meta that 2026-07-28 requires is checked where the caller is identified, not here. The id of a
        // cancellation is optional in 2025-11-25, and therefore in every revision.
        if (key === '_meta' || key === 'requestId' || schema.accepts(method, rest)) continue
        // Only 2025-11-25 requires an elicitation id.
        if (key === 'elicitationId' && method === 'elicitation/create') continue
        expect(check(method, rest), key).toBeDefined()
      }
    }
  })

  it.each([...schema.params.keys()])('never refuses params of %s that the schema accepts', (method) => {
    for (const example of schema.examplesOf(method)) {
      for (const mutant of mutantsOf(example)) {
        const problem = check(method, mutant)
        if (problem !== undefined) expect(schema.accepts(method, mutant), problem).toBe(false)
      }
    }
  })
})

/** Yields copies of the value with one part, at any depth, replaced by a value of another type. */
function* mutantsOf<T extends object>(value: T): Generator<T> {
  for (const [key, member] of Object.entries(value)) {
    const put = (other: unknown): T =>
      (Array.isArray(value) ? value.with(Number(key), other) : { ...value, [key]: other }) as T
    for (const other of [null, true, 3, 0.5, 'text', [], {}, ['text'], { a: 1 }]) yield put(other)
    if (typeof member === 'object' && member !== null) for (const other of mutantsOf(member)) yield put(other)
  }
}

function loadSchema(revision: string) {
  if (!schemas) return { params: new Map<string, JsonObject>(), examplesOf: () => [], accepts: () => true }
  const document = JSON.parse(readFileSync(join(schemas, `${revision}.json`), 'utf8'))
  const definitions: Record<string, JsonObject> = document.$defs ?? document.definitions

  const params = new Map<string, JsonObject>()
  for (const definition of Object.values(definitions)) {
    const properties = definition.properties as Record<string, JsonObject> | undefined
    const method = properties?.method?.const
    if (typeof method === 'string') params.set(method, properties?.params ?? {})
  }

  /** Returns the examples of a method, reduced to the members of this revision. */
  function examplesOf(method: string): JsonObject[] {
    const known = membersOf(params.get(method) ?? {})
    const found: JsonObject[] = []
    for (const [name, example] of cases) {
      if (name !== method) continue
      const cut = Object.fromEntries(Object.entries(example).filter(([key]) => known.has(key)))
      if (known.has('_meta')) cut._meta = metaFor(method)
      if (accepts(method, cut)) found.push(cut)
    }
    return found
  }

  function metaFor(method: string): JsonObject {
    if (revision !== '2026-07-28') return { progressToken: 1 }
    // On 2026-07-28 roots/list is part of a result: it has no progress, and its _meta is free.
    return method === 'roots/list' ? {} : { ...modernMeta, progressToken: 1 }
  }

  function membersOf(node: JsonObject): Set<string> {
    const target = resolve(node)
    const members = new Set(Object.keys(target.properties ?? {}))
    for (const part of [...list(target.allOf), ...list(target.anyOf)]) {
      for (const key of membersOf(part)) members.add(key)
    }
    return members
  }

  function accepts(method: string, value: unknown): boolean {
    return fits(params.get(method) ?? {}, value)
  }

  /** Supports the few keywords that the official schemas use, without formats. */
  function fits(node: JsonObject, value: unknown): boolean {
    const s = resolve(node)
    if ('const' in s && s.const !== value) return false
    if (Array.isArray(s.enum) && !s.enum.includes(value)) return false
    if (s.type !== undefined && ![s.type].flat().some((type) => isOfType(type, value))) return false
    if (s.allOf && !list(s.allOf).every((part) => fits(part, value))) return false
    if (s.anyOf && !list(s.anyOf).some((part) => fits(part, value))) return false
    if (Array.isArray(value)) return !isObject(s.items) || value.every((item) => fits(s.items as JsonObject, item))
    if (!isObject(value)) return true
    const properties = (s.properties ?? {}) as Record<string, JsonObject>
    if (list(s.required).some((key) => value[key as unknown as string] === undefined)) return false
    return Object.entries(value).every(([key, member]) => {
      const rule = Object.hasOwn(properties, key) ? properties[key] : s.additionalProperties
      return !isObject(rule) || member === undefined || fits(rule, member)
    })
  }

  function resolve(node: JsonObject): JsonObject {
    return typeof node.$ref === 'string' ? resolve(definitions[node.$ref.split('/').at(-1)!]!) : node
  }

  return { params, examplesOf, accepts }
}

function list(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value : []
}

function isOfType(type: unknown, value: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'object') return isObject(value)
  if (type === 'array') return Array.isArray(value)
  return type === 'null' ? value === null : typeof value === type
}
