import { acceptedContent, type Context, inputRequired } from 'tenon/server'
import { describe, expect } from 'vitest'
import * as z from 'zod'
import { accepted, echoing, nameForm, namesFor } from './round-trips-server-support.ts'
import { modern, serverOf } from './round-trips-support.ts'
import { everyForm } from './support.ts'

describe('questions returned with inputRequired', () => {
  everyForm('are answered in the next run of the handler [MRTR-002, MRTR-009]', async (wire) => {
    const server = serverOf()
    const runs: unknown[] = []
    server.registerTool('trip', { inputSchema: { from: z.string() } }, ({ from }, ctx) => {
      runs.push([Object.keys(ctx.inputResponses), ctx.requestState])
      const state = ctx.requestState as { to?: string } | undefined
      if (!state) {
        const to = inputRequired.elicit({ message: `From ${from} to?`, requestedSchema: nameForm })
        return inputRequired({ inputRequests: { to }, requestState: {} })
      }
      const to = state.to ?? acceptedContent(ctx.inputResponses, 'to', nameForm)?.name
      const who = acceptedContent(ctx.inputResponses, 'who', nameForm)?.name
      if (who) return `${who}: ${from} - ${to}`
      const question = inputRequired.elicit({ message: 'Who?', requestedSchema: nameForm })
      return inputRequired({ inputRequests: { who: question }, requestState: { to, list: [1, null, 'ä'] } })
    })
    await using pair = await wire.connect(server, { handlers: echoing })
    expect((await pair.client.callTool('trip', { from: 'Rome' })).text).toBe('Who?: Rome - From Rome to?')
    expect(runs).toEqual([
      [[], undefined],
      [['to'], {}],
      [['who'], { to: 'From Rome to?', list: [1, null, 'ä'] }],
    ])
  })

  everyForm('work in prompts and resources, several at once, and together with awaited ones', async (wire) => {
    const server = serverOf()
    let effects = 0
    const ask = async (ctx: Context): Promise<string | ReturnType<typeof inputRequired>> => {
      const effect = await ctx.once('effect', () => ++effects)
      const awaited = await namesFor(ctx, 'awaited')
      const got = ['x', 'y'].map((key) => acceptedContent(ctx.inputResponses, key)?.name)
      if (got.every(Boolean)) return `${effect}: ${[awaited, ...got].join()}`
      const [x, y] = ['x', 'y'].map((key) => inputRequired.elicit({ message: `${key}?`, requestedSchema: nameForm }))
      return inputRequired({ inputRequests: { x: x!, y: y! } })
    }
    server.registerPrompt('ask', {}, (_args, ctx) => ask(ctx))
    server.registerResource('ask', 'note://ask', {}, (_uri, ctx) => ask(ctx))
    const asked: string[] = []
    await using pair = await wire.connect(server, {
      handlers: {
        elicit: ({ message }) => {
          asked.push(message)
          return accepted({ name: message })
        },
      },
    })
    expect(JSON.stringify(await pair.client.getPrompt('ask'))).toContain('1: awaited?,x?,y?')
    expect(asked).toEqual(['awaited?', 'x?', 'y?'])
    expect(JSON.stringify(await pair.client.readResource('note://ask'))).toContain('2: awaited?,x?,y?')
    expect(asked).toHaveLength(6)
  })

  everyForm('may be empty: the handler runs again with its state [MRTR-004, MRTR-012]', async (wire) => {
    const server = serverOf()
    server.registerTool('later', {}, (_args, ctx) => {
      const count = (ctx.requestState as number | undefined) ?? 0
      return count === 2 ? `after ${count}` : inputRequired({ requestState: count + 1 })
    })
    await using pair = await wire.connect(server, { handlers: echoing })
    expect((await pair.client.callTool('later')).text).toBe('after 2')
  })

  everyForm('return the state as JSON round-trips it', async (wire) => {
    const server = serverOf()
    const given = { at: new Date(0), nothing: undefined, list: [undefined, Number.NaN], map: new Map([[1, 2]]) }
    let back: unknown
    server.registerTool('later', {}, (_args, ctx) => {
      back = ctx.requestState
      return back === undefined ? inputRequired({ requestState: given }) : 'done'
    })
    await using pair = await wire.connect(server, { handlers: echoing })
    expect((await pair.client.callTool('later')).text).toBe('done')
    expect(back).toStrictEqual(JSON.parse(JSON.stringify(given)))
  })

  everyForm('have no accepted content when declined or when the content does not match the schema', async (wire) => {
    const server = serverOf()
    const numbers = z.object({ name: z.string().refine((name) => name === 'right') })
    server.registerTool('ask', {}, (_args, ctx) => {
      const { inputResponses } = ctx
      if (Object.keys(inputResponses).length === 0) {
        const question = (message: string) => inputRequired.elicit({ message, requestedSchema: nameForm })
        const inputRequests = { no: question('no'), wrong: question('wrong'), right: question('right') }
        return inputRequired({ inputRequests })
      }
      const contents = ['no', 'wrong', 'right', 'never', '__proto__'].map(
        (key) => acceptedContent(inputResponses, key, numbers) ?? null,
      )
      return JSON.stringify(contents)
    })
    await using pair = await wire.connect(server, {
      handlers: {
        elicit: ({ message }) => (message === 'no' ? { action: 'decline' } : accepted({ name: message })),
      },
    })
    const { text } = await pair.client.callTool('ask')
    expect(JSON.parse(text)).toEqual([null, null, { name: 'right' }, null, null])
  })
})

describe('results of calls with several round trips', () => {
  everyForm('are not cached, even when other results are [CACHE-006]', async (wire) => {
    const server = serverOf({ cache: { ttlMs: 600_000 } })
    let reads = 0
    server.registerResource('asks', 'note://asks', {}, async (_uri, ctx) => `${await namesFor(ctx, 'k')} ${++reads}`)
    server.registerResource('quiet', 'note://quiet', {}, () => `${++reads}`)
    let asked = 0
    await using pair = await wire.connect(server, {
      handlers: { elicit: ({ message }) => accepted({ name: `${message}${++asked}` }) },
    })
    const read = async (uri: string) => (await pair.client.readResource(uri)).contents[0] as { text: string }
    expect((await read('note://asks')).text).toBe('k?1 1')
    expect((await read('note://asks')).text).toBe('k?2 2')
    const isKept = wire.revision.id === modern
    expect((await read('note://quiet')).text).toBe('3')
    expect((await read('note://quiet')).text).toBe(isKept ? '3' : '4')
  })
})
