import { describe, expect, it } from 'vitest'
import type { WireMessage } from '../src/inspector/protocol.ts'
import { callOf, InspectorPage } from './inspector-support.ts'
import { fixture } from './support.ts'

const target = `${process.execPath} ${fixture('flood.js')}`

describe('a hostile server in the inspector', () => {
  it('lists 5,000 tools of several pages, in order and in parts', async () => {
    await using page = await InspectorPage.open()
    await page.connect({ target })
    await page.until('list', ({ offset, items, total }) => offset + items.length === total)
    const parts = page.all('list')
    expect(parts.length).toBeGreaterThan(5)
    expect(new Set(parts.map(({ total }) => total))).toEqual(new Set([5_000]))
    const names = parts.flatMap(({ items }) => items.map(({ name }) => name))
    expect(names).toHaveLength(5_000)
    expect(names.slice(1)).toEqual(Array.from({ length: 4_999 }, (_value, index) => `tool-${index + 1}`))
    expect(names[0]).toBe('<img src=x onerror=alert(1)>\u202e\u001b[2J')
    for (const part of parts) expect(JSON.stringify(part).length).toBeLessThan(300 * 1024)
  })

  it('shortens a message of 10 MB in the stream, and has all of it on request', async () => {
    await using page = await InspectorPage.open()
    const server = await page.connect({ target })
    const ended = await page.run(server, callOf('huge'))
    expect(JSON.stringify(ended.result).length).toBeGreaterThan(10 * 1024 * 1024)
    const shortened = page.all('message').find(({ isShortened }) => isShortened)
    expect(shortened).toMatchObject({ direction: 'received', bytes: expect.any(Number) })
    expect(shortened?.bytes).toBeGreaterThan(10 * 1024 * 1024)
    expect(String(shortened?.message)).toHaveLength(16 * 1024)
    const { json } = await page.api('GET', `events/${shortened?.seq}`)
    expect(json).toMatchObject({ seq: shortened?.seq, kind: 'message', operation: ended.operation })
    expect(json.isShortened).toBeUndefined()
    expect(json.message.result.content[0].text).toHaveLength(10 * 1024 * 1024)
  })

  it('shows a result that does not match the output schema, and why', async () => {
    await using page = await InspectorPage.open()
    const server = await page.connect({ target })
    await page.until('list')
    const { result, output, error } = await page.run(server, callOf('tool-1'))
    expect(error).toBeUndefined()
    expect(result).toEqual({ content: [], structuredContent: { count: 'many' } })
    expect(output).toMatchObject({ isValid: false, problem: expect.stringContaining('count') })
  })

  it('reads a list once more, not 500 times, if a server announces 500 changes', async () => {
    await using page = await InspectorPage.open()
    const server = await page.connect({ target })
    await page.until('list', ({ offset, items, total }) => offset + items.length === total)
    await page.run(server, callOf('changes'))
    const isFirst = ({ message }: WireMessage) => {
      const { method, params } = message as { method?: string; params?: { cursor?: string } }
      return method === 'tools/list' && params?.cursor === undefined
    }
    await expect.poll(() => page.all('message').filter(isFirst).length, { timeout: 30_000 }).toBeGreaterThan(1)
    await page.run(server, { method: 'ping' })
    expect(page.all('message').filter(isFirst).length).toBeLessThan(5)
  })
})
