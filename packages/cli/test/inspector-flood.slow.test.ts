import { describe, expect, it } from 'vitest'
import type { InspectorEvent, WireMessage } from '../src/inspector/protocol.ts'
import { callOf, InspectorPage } from './inspector-support.ts'
import { fixture } from './support.ts'

const target = `${process.execPath} ${fixture('flood.js')}`

describe('a server that sends notifications for ever, in the inspector', () => {
  it('leaves out notifications that never end, says how many, and still works', async () => {
    await using page = await InspectorPage.open()
    const server = await page.connect({ target })
    await page.run(server, callOf('flood'))
    const { count } = await page.until('left-out')
    expect(count).toBeGreaterThan(0)
    expect((await page.run(server, { method: 'ping' })).error).toBeUndefined()
    expect((await page.run(server, callOf('calm'))).error).toBeUndefined()
    expect(page.events.map(({ seq }) => seq)).toEqual(page.events.map((_event, index) => index + 1))
    const counts = page.all('message').flatMap(countOf)
    expect(counts).toEqual([...counts].sort((a, b) => a - b))
    await page.api('POST', `servers/${server}/disconnect`)
    await page.until('server-state', ({ state }) => state === 'closed')
  })

  it('does not keep what a slow page has not read', async () => {
    await using page = await InspectorPage.open({ log: { maxEvents: 2_000 } })
    const server = await page.connect({ target })
    const seen: InspectorEvent[] = []
    const slow = await page.stream(0, (event) => seen.push(event))
    slow.pause()
    await page.run(server, callOf('flood'))
    await page.until('left-out')
    await page.run(server, callOf('calm'))
    slow.resume()
    const last = (await page.ended(await page.start(server, { method: 'ping' }))).seq
    await expect.poll(() => seen.at(-1)?.seq, { timeout: 30_000 }).toBeGreaterThanOrEqual(last)
    const numbers = seen.map(({ seq }) => seq)
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b))
    expect(seen.filter(({ kind }) => kind === 'server-added')).toHaveLength(1)
    slow.destroy()
  })
})

/** The number in a notification of the flood. */
function countOf({ message }: WireMessage): number[] {
  const { params } = message as { params?: { data?: { count?: number } } }
  return params?.data?.count === undefined ? [] : [params.data.count]
}
