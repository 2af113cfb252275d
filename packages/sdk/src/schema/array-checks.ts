import type { Builder } from './compile.ts'
import type { Check, Run } from './run.ts'
import { isObject } from './values.ts'

/** The checks of the keywords for arrays. */
export function arrayChecks(builder: Builder): (Check | undefined)[] {
  return [sizeCheck(builder), itemsCheck(builder), containsCheck(builder), uniqueCheck(builder)]
}

/** The check of `unevaluatedItems`, to be run after all others. */
export function unevaluatedItemsCheck(builder: Builder): Check | undefined {
  if (builder.get('unevaluatedItems') === undefined) return undefined
  const check = builder.member('unevaluatedItems')
  return (value, run, seen) => {
    if (!Array.isArray(value) || seen === undefined || seen.allItems) return true
    let valid = true
    for (let index = seen.count; index < value.length; index++) {
      if (seen.hasIndex(index) || run.descend(check, value[index], index)) continue
      if (run.done) return false
      valid = false
    }
    seen.allItems = true
    return valid
  }
}

function sizeCheck(builder: Builder): Check | undefined {
  const min = builder.get<number>('minItems') ?? 0
  const max = builder.get<number>('maxItems') ?? Number.POSITIVE_INFINITY
  if (min === 0 && max === Number.POSITIVE_INFINITY) return undefined
  return (value, run) => {
    if (!Array.isArray(value)) return true
    if (value.length < min) return run.fail(`must have at least ${items(min)}, has ${value.length}`)
    return value.length <= max || run.fail(`must have at most ${items(max)}, has ${value.length}`)
  }
}

function items(count: number): string {
  return count === 1 ? '1 item' : `${count} items`
}

function itemsCheck(builder: Builder): Check | undefined {
  const { prefix, rest } = listItems(builder)
  if (prefix.length === 0 && rest === undefined) return undefined
  return (value, run, seen) => {
    if (!Array.isArray(value)) return true
    const end = rest === undefined ? Math.min(prefix.length, value.length) : value.length
    if (run.spend(end)) return false
    let valid = true
    for (let index = 0; index < end; index++) {
      if (run.descend(prefix[index] ?? rest!, value[index], index)) continue
      if (run.done) return false
      valid = false
    }
    if (seen && rest) seen.allItems = true
    else if (seen) seen.count = Math.max(seen.count, end)
    return valid
  }
}

/** The checks of the first items, one each, and of all that follow. */
function listItems(builder: Builder): { prefix: Check[]; rest: Check | undefined } {
  const tuple = builder.get('prefixItems') ?? builder.get('items')
  if (!Array.isArray(tuple)) return { prefix: [], rest: optionalMember(builder, 'items') }
  const keyword = builder.get('prefixItems') === undefined ? 'items' : 'prefixItems'
  const prefix = tuple.map((_, index) => builder.member(keyword, index))
  return { prefix, rest: optionalMember(builder, keyword === 'items' ? 'additionalItems' : 'items') }
}

function optionalMember(builder: Builder, keyword: string): Check | undefined {
  return builder.get(keyword) === undefined ? undefined : builder.member(keyword)
}

function containsCheck(builder: Builder): Check | undefined {
  const check = optionalMember(builder, 'contains')
  if (check === undefined) return undefined
  const min = builder.get<number>('minContains') ?? 1
  const max = builder.get<number>('maxContains') ?? Number.POSITIVE_INFINITY
  // Only since 2020-12 does an item that `contains` has matched count as evaluated.
  const marks = builder.place.dialect.draft >= 2020
  return (value, run, seen) => {
    if (!Array.isArray(value)) return true
    if (run.spend(value.length)) return false
    let count = 0
    for (let index = 0; index < value.length; index++) {
      if (!run.attemptAt(check, value[index], index)) continue
      count++
      if (marks) seen?.addIndex(index)
    }
    if (count < min) return run.fail(`must contain at least ${items(min)} of the wanted kind, has ${count}`)
    return count <= max || run.fail(`must contain at most ${items(max)} of the wanted kind, has ${count}`)
  }
}

function uniqueCheck(builder: Builder): Check | undefined {
  if (builder.get('uniqueItems') !== true) return undefined
  return (value, run) => {
    if (!Array.isArray(value) || value.length < 2) return true
    const repeated = findRepeated(value, run)
    return repeated === -1 || run.fail(`must not have equal items; item ${repeated} repeats an earlier one`)
  }
}

function findRepeated(list: unknown[], run: Run): number {
  const simple = new Set<unknown>()
  const complex = new Set<string>()
  return list.findIndex((item) => {
    const known = typeof item === 'object' && item !== null ? complex : simple
    const size = known.size
    known.add(known === complex ? toCanonical(item, run, 0) : item)
    return known.size === size || run.spend(1)
  })
}

/** JSON text with sorted keys, equal for equal values. */
function toCanonical(value: unknown, run: Run, depth: number): string {
  if (depth > run.maxDepth) run.tooDeep()
  if (depth > run.maxDepth || run.spend(1)) return ''
  if (Array.isArray(value)) return `[${value.map((item) => toCanonical(item, run, depth + 1)).join()}]`
  if (!isObject(value)) return JSON.stringify(value) ?? ''
  const keys = Object.keys(value).filter((key) => value[key] !== undefined)
  return `{${keys.sort().map((key) => `${JSON.stringify(key)}:${toCanonical(value[key], run, depth + 1)}`)}}`
}
