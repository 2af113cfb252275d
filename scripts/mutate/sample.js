/** Takes up to `count` items in an order that depends on the seed, one of each group in turn. */
export function sample(items, count, seed, groupOf) {
  const groups = new Map()
  for (const item of shuffled(items, seed)) {
    const group = groups.get(groupOf(item)) ?? []
    groups.set(groupOf(item), group)
    group.push(item)
  }
  const names = [...groups.keys()].sort()
  const chosen = []
  const size = Math.min(count, items.length)
  for (let round = 0; chosen.length < size; round++) {
    for (const name of names) {
      const item = groups.get(name)[round]
      if (item !== undefined && chosen.length < size) chosen.push(item)
    }
  }
  return chosen
}

function shuffled(items, seed) {
  const random = numbers(seed)
  const result = [...items]
  for (let last = result.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    ;[result[last], result[other]] = [result[other], result[last]]
  }
  return result
}

/** A generator of numbers from 0 to 1 (mulberry32). The same seed gives the same numbers. */
function numbers(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
