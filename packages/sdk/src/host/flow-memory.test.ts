import { expect, it } from 'vitest'
import { FlowMemory, type MemoryUser } from './flow-memory.ts'

/** A session with texts of these sizes, oldest first. */
function session(...sizes: number[]) {
  return {
    sizes,
    get bytes() {
      return sizes.reduce((sum, size) => sum + size, 0)
    },
    dropOldest: () => sizes.shift() !== undefined,
  }
}

it('lets the session that uses most forget its oldest texts, until some room is left [HOST-031]', () => {
  const memory = new FlowMemory(100)
  const small = session(10, 10)
  const large = session(20, 20, 20, 20)
  memory.update(small)
  memory.update(large)
  expect([memory.bytes, small.bytes, large.bytes]).toEqual([100, 20, 80])
  large.sizes.push(1)
  memory.update(large)
  expect([memory.bytes, small.bytes, large.bytes]).toEqual([81, 20, 61])
  memory.remove(small)
  expect(memory.bytes).toBe(61)
  small.sizes.push(10)
  memory.update(small)
  memory.update(small)
  expect(memory.bytes).toBe(91)
})

it('counts a session no longer that has nothing to forget', () => {
  const memory = new FlowMemory(100)
  const full: MemoryUser = { bytes: 200, dropOldest: () => false }
  memory.update(full)
  expect(memory.bytes).toBe(0)
})
