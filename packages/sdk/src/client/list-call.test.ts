import { createHook } from 'node:async_hooks'
import { describe, expect, it } from 'vitest'
import { ListCall, type ListPage } from './list-call.ts'

interface Numbers extends ListPage {
  items: number[]
}

function listOf(pages: number, itemsPerPage: number): ListCall<Numbers, number> {
  const fetch = async (cursor = '0'): Promise<Numbers> => {
    const at = Number(cursor)
    const items = Array.from({ length: itemsPerPage }, (_, index) => at * itemsPerPage + index)
    return at + 1 < pages ? { items, nextCursor: String(at + 1) } : { items }
  }
  return new ListCall(fetch, ({ items }) => items, undefined)
}

/** Counts the promises that are created until the work ends. */
async function countPromises(work: () => Promise<unknown>): Promise<number> {
  let count = 0
  const hook = createHook({
    init(_id, type) {
      if (type === 'PROMISE') count++
    },
  }).enable()
  try {
    await work()
  } finally {
    hook.disable()
  }
  return count
}

describe('all() of a list', () => {
  it('returns the items of all pages in order', async () => {
    expect(await listOf(3, 4).all()).toEqual(Array.from({ length: 12 }, (_, index) => index))
    expect(await listOf(2, 0).all()).toEqual([])
  })

  it('takes as many steps for a page of 10,000 items as for one of 10', async () => {
    const few = await countPromises(() => listOf(2, 10).all())
    const many = await countPromises(() => listOf(2, 10_000).all())
    expect(few).toBeGreaterThan(0)
    expect(many).toBeLessThan(few + 50)
  })

  it('yields the same items one by one', async () => {
    const items: number[] = []
    for await (const item of listOf(3, 4)) items.push(item)
    expect(items).toEqual(await listOf(3, 4).all())
  })
})
