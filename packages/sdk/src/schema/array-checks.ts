import type { Builder } from './compile.ts'
import { type Check, testMember } from './run.ts'
import { sizeChecks, testSize } from './value-checks.ts'
import { toCanonical } from './values.ts'

type ArrayCheck = Check<unknown[]>

/** The checks of the keywords for arrays. */
export function arrayChecks(builder: Builder): ArrayCheck[] {
  return [
    ...sizeChecks<unknown[]>(builder, 'Items', ['item', 'items'], (value) => value.length),
    ...itemsChecks(builder),
    ...containsChecks(builder),
    ...(builder.get('uniqueItems') === true ? [uniqueCheck] : []),
  ]
}

function itemsChecks(builder: Builder): ArrayCheck[] {
  // In draft-07 a tuple is in items, and what follows it in additionalItems.
  const oldTuple = Array.isArray(builder.get('items'))
  const prefix = builder.many(oldTuple ? 'items' : 'prefixItems').map(([, shape]) => shape)
  const rest = builder.one(oldTuple ? 'additionalItems' : 'items')
  if (prefix.length === 0 && !rest) return []
  return [
    (value, run, seen) => {
      const end = rest ? value.length : Math.min(prefix.length, value.length)
      if (seen ? run.spendKeys(end) : run.spend(end)) return false
      let valid = true
      for (let index = 0; index < end; index++) {
        seen?.add(index)
        if (testMember(prefix[index] ?? rest!, value[index], index, run)) continue
        if (run.done) return false
        valid = false
      }
      return valid
    },
  ]
}

function containsChecks(builder: Builder): ArrayCheck[] {
  const shape = builder.one('contains')
  if (!shape) return []
  const min = builder.get<number>('minContains') ?? 1
  const max = builder.get<number>('maxContains') ?? Number.POSITIVE_INFINITY
  return [
    (value, run, seen) => {
      const { doubts } = run
      let count = 0
      for (let index = 0; index < value.length; index++) {
        if (run.spend(1)) return false
        if (!run.attemptAt(shape, value[index], index)) continue
        count++
        seen?.add(index)
      }
      const most = run.doubts > doubts ? Number.POSITIVE_INFINITY : max
      return testSize(count, min, most, ['item of the wanted kind', 'items of the wanted kind'], run)
    },
  ]
}

const uniqueCheck: ArrayCheck = (value, run) => {
  if (run.spendKeys(value.length)) return false
  const known = new Set<string>()
  const repeated = value.findIndex((item) => known.size === known.add(toCanonical(item, run)).size)
  return repeated === -1 || run.fail(`must not have equal items; item ${repeated} repeats an earlier one`)
}
