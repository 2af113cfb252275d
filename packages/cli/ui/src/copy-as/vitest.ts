import { isObject } from 'tenon/internal'
import type { Call } from './call.ts'
import { literal, requestOf, targetOf } from './typescript.ts'

/** Members that differ from run to run and say nothing about the behaviour. */
const volatile = new Set(['_meta', 'ttlMs', 'cacheScope', 'resultType'])

/** A vitest file that repeats the call and expects what it answered; undefined if the call has no result. */
export function toVitest(call: Call): string | undefined {
  const request = requestOf(call)
  if (request === undefined || !isObject(call.result)) return undefined
  const expected = Object.fromEntries(Object.entries(call.result).filter(([name]) => !volatile.has(name)))
  return `import { connect } from 'tenon/client'
import { expect, test } from 'vitest'

test(${literal(`${titleOf(call)} answers as recorded`)}, async () => {
  await using client = await connect(${targetOf(call)})

  const result = await client.${request}

  expect(result).toMatchObject(${literal(expected, 2)})
})
`
}

/** The name of the file to save. */
export function testFileName(call: Call): string {
  const name = String(call.params.name ?? call.params.uri ?? 'call').replace(/[^\w-]+/g, '-')
  return `${name.slice(0, 60) || 'call'}.test.ts`
}

function titleOf({ method, params }: Call): string {
  return `${method} ${String(params.name ?? params.uri)}`
}
