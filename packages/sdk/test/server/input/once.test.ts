import { describe, expect } from 'vitest'
import * as z from 'zod'
import { echoing, namesFor } from './round-trips-server-support.ts'
import { serverOf } from './round-trips-support.ts'
import { everyForm } from './support.ts'

describe('ctx.once', () => {
  everyForm('runs its function once alongside an open question, in any order', async (wire) => {
    const server = serverOf()
    const done: string[] = []
    const work = (name: string) => async () => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      done.push(name)
      return name
    }
    server.registerTool('first', {}, async (_args, ctx) =>
      (await Promise.all([ctx.once('a', work('first')), namesFor(ctx, 'k')])).join(),
    )
    server.registerTool('last', {}, async (_args, ctx) =>
      (await Promise.all([namesFor(ctx, 'k'), ctx.once('a', work('last')), ctx.once('b', work('other'))])).join(),
    )
    server.registerTool('chain', {}, async (_args, ctx) => {
      const chained = async () => [await ctx.once('a', work('one')), await ctx.once('b', work('two'))].join('-')
      return (await Promise.all([chained(), namesFor(ctx, 'k')])).join()
    })
    await using pair = await wire.connect(server, { handlers: echoing })
    expect((await pair.client.callTool('first')).text).toBe('first,k?')
    expect((await pair.client.callTool('last')).text).toBe('k?,last,other')
    expect((await pair.client.callTool('chain')).text).toBe('one-two,k?')
    expect(done.sort()).toEqual(['first', 'last', 'one', 'other', 'two'])
  })

  everyForm('returns the same value for every call with the same key', async (wire) => {
    const server = serverOf()
    let count = 0
    server.registerTool('same', {}, async (_args, ctx) => {
      const work = async () => ({ count: ++count })
      const both = await Promise.all([ctx.once('k', work), ctx.once('k', work)])
      await namesFor(ctx, 'q')
      const again = await ctx.once('k', () => ({ count: -1 }))
      return JSON.stringify([...both, again])
    })
    await using pair = await wire.connect(server, { handlers: echoing })
    expect(JSON.parse((await pair.client.callTool('same')).text)).toEqual([{ count: 1 }, { count: 1 }, { count: 1 }])
    expect(count).toBe(1)
  })

  for (const how of ['throws', 'rejects'] as const) {
    everyForm(`stores nothing when the function ${how}, so that it can be retried`, async (wire) => {
      const server = serverOf()
      let tries = 0
      const work = () => {
        if (++tries > 2) return `try ${tries}`
        const error = new Error(`try ${tries} failed`)
        if (how === 'throws') throw error
        return Promise.reject(error)
      }
      server.registerTool('fails', {}, async (_args, ctx) => {
        const seen: string[] = []
        for (const _ of [1, 2]) await ctx.once<string>('k', work).catch((error) => seen.push(error.message))
        const value = await ctx.once<string>('k', work)
        await namesFor(ctx, 'q')
        return [...seen, value].join()
      })
      server.registerTool('ends', {}, async (_args, ctx) => {
        await ctx.once('k', () => {
          throw new Error('no way')
        })
        return 'never'
      })
      await using pair = await wire.connect(server, { handlers: echoing })
      const { text } = await pair.client.callTool('fails')
      expect(text.split(',').at(-1)).toBe('try 3')
      expect(tries).toBe(3)
      expect(await pair.client.callTool('ends')).toMatchObject({ isError: true, text: 'no way' })
    })
  }

  everyForm('rejects values that JSON cannot represent, and names the key', async (wire) => {
    const server = serverOf()
    const circle: Record<string, unknown> = {}
    circle.self = circle
    const values: Record<string, unknown> = { function: () => 1, symbol: Symbol('a'), bigint: 1n, circle }
    server.registerTool('bad', { inputSchema: { kind: z.string() } }, async ({ kind }, ctx) => {
      await ctx.once(`the ${kind}`, () => values[kind])
      return 'never'
    })
    await using pair = await wire.connect(server, { handlers: echoing })
    for (const kind of Object.keys(values)) {
      const { isError, text } = await pair.client.callTool('bad', { kind })
      expect(isError, kind).toBe(true)
      expect(text, kind).toContain(`the ${kind}`)
    }
  })

  everyForm('returns the value as JSON represents it, before a question and after it', async (wire) => {
    const server = serverOf()
    const nothing = { runs: 0 }
    const seen: unknown[] = []
    server.registerTool('values', {}, async (_args, ctx) => {
      const undefinedValue = await ctx.once('undefined', () => {
        nothing.runs++
      })
      const rest = await ctx.once('rest', () => ({
        date: new Date(0),
        missing: undefined,
        list: [undefined, Number.NaN, -0],
        map: new Map([[1, 2]]),
        text: 'ä\u2028\ud800"',
        __proto__: { inherited: true },
      }))
      const plain = [
        await ctx.once('null', () => null),
        await ctx.once('zero', () => 0),
        await ctx.once('empty', () => ''),
      ]
      seen.push([undefinedValue, rest, plain])
      // Changing the value affects only this run.
      ;(rest as { text: string }).text = 'changed'
      await namesFor(ctx, 'q')
      seen.push(await ctx.once('rest', () => 'never'))
      return 'done'
    })
    await using pair = await wire.connect(server, { handlers: echoing })
    expect((await pair.client.callTool('values')).text).toBe('done')
    expect(nothing.runs).toBe(1)
    const kept = { date: '1970-01-01T00:00:00.000Z', list: [null, null, 0], map: {}, text: 'ä\u2028\ud800"' }
    for (const [none, , plain] of seen.slice(0, -1) as [unknown, unknown, unknown][]) {
      expect(none).toBeUndefined()
      expect(plain).toStrictEqual([null, 0, ''])
    }
    expect(seen.at(-1)).toStrictEqual(kept)
  })

  everyForm('works without questions, and without a client that could answer', async (wire) => {
    const server = serverOf()
    server.registerTool('quiet', {}, async (_args, ctx) => ctx.once('k', () => 'value'))
    await using pair = await wire.connect(server)
    expect((await pair.client.callTool('quiet')).text).toBe('value')
  })
})
