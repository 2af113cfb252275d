import { Suspended } from 'tenon'
import { acceptedContent, inputRequired } from 'tenon/server'
import { describe, expect } from 'vitest'
import { echoing, hello, nameForm, namesFor } from './round-trips-server-support.ts'
import { accept, everyRaw, modern, serverOf, withAnswers } from './round-trips-support.ts'
import { everyForm } from './support.ts'

describe('a handler that runs again', () => {
  everyRaw('runs its finally blocks each time, and Suspended passes through its catch blocks', async (open) => {
    const server = serverOf()
    const events: string[] = []
    server.registerTool('ask', {}, async (_args, ctx) => {
      events.push('begin')
      try {
        return await namesFor(ctx, 'k')
      } catch (error) {
        events.push(error instanceof Suspended ? 'suspended' : String(error))
        throw error
      } finally {
        events.push('finally')
      }
    })
    await using peer = await open(server)
    const first = await peer.call('ask')
    expect(events).toEqual(['begin', 'suspended', 'finally'])
    await peer.call('ask', {}, withAnswers(first, { k: accept({ name: 'Ann' }) }))
    expect(events).toEqual(['begin', 'suspended', 'finally', 'begin', 'finally'])
  })

  everyForm('still asks when it swallows or wraps Suspended', async (wire) => {
    const server = serverOf({ maskErrors: true, onError: () => {} })
    server.registerTool('swallow', {}, async (_args, ctx) => {
      try {
        return await namesFor(ctx, 'k')
      } catch {
        return 'swallowed'
      }
    })
    server.registerTool('wrap', {}, (_args, ctx) =>
      namesFor(ctx, 'k').catch((cause) => {
        throw new Error('wrapped', { cause })
      }),
    )
    server.registerPrompt('swallow', {}, (_args, ctx) => namesFor(ctx, 'k').catch(() => 'swallowed'))
    await using pair = await wire.connect(server, { handlers: echoing })
    expect((await pair.client.callTool('swallow')).text).toBe('k?')
    expect((await pair.client.callTool('wrap')).text).toBe('k?')
    expect(JSON.stringify(await pair.client.getPrompt('swallow'))).toContain('k?')
  })

  everyForm('does not crash the process when it does not await its questions', async (wire) => {
    const crashes: unknown[] = []
    const note = (reason: unknown) => crashes.push(reason)
    process.on('unhandledRejection', note)
    const server = serverOf()
    server.registerTool('forget', {}, async (_args, ctx) => {
      void ctx.elicit('Never awaited', nameForm)
      void ctx.elicit('')
      void ctx.sample(hello)
      void ctx.roots()
      void ctx.elicitUrl('Nowhere', 'ftp://example.com')
      void ctx.once('fails', () => Promise.reject(new Error('fails')))
      void ctx.once('throws', () => {
        throw new Error('throws')
      })
      return 'done'
    })
    await using pair = await wire.connect(server, { handlers: echoing })
    expect((await pair.client.callTool('forget')).text).toBe('done')
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', note)
    expect(crashes).toEqual([])
  })

  everyForm('finishes work of once() that runs beside a question, and does not start it again', async (wire) => {
    const server = serverOf()
    let starts = 0
    const work = async () => {
      starts++
      await new Promise((resolve) => setImmediate(resolve))
      return 'worked'
    }
    server.registerTool('beside', {}, async (_args, ctx) =>
      (await Promise.all([ctx.once('work', work), namesFor(ctx, 'k')])).join(),
    )
    await using pair = await wire.connect(server, { handlers: echoing })
    expect((await pair.client.callTool('beside')).text).toBe('worked,k?')
    expect(starts).toBe(1)
  })

  everyForm('must not use one key for two questions', async (wire) => {
    const server = serverOf()
    server.registerTool('twice', {}, (_args, ctx) => namesFor(ctx, 'same', 'same'))
    await using pair = await wire.connect(server, { handlers: echoing })
    const { isError, text } = await pair.client.callTool('twice')
    expect(isError).toBe(true)
    expect(text).toContain('Two questions have the key "same"')
  })

  everyForm('may be wrapped in middleware, which may ask as well', async (wire) => {
    const server = serverOf()
    server.use(async ({ method, ctx }, next) => {
      if (method !== 'tools/call') return next()
      const who = await namesFor(ctx, 'who')
      const result = await next()
      return { ...result, _meta: { 'example.com/who': who } }
    })
    server.registerTool('ask', {}, (_args, ctx) => namesFor(ctx, 'a', 'b'))
    await using pair = await wire.connect(server, { handlers: echoing })
    const { text, _meta } = (await pair.client.callTool('ask')) as { text: string; _meta?: Record<string, unknown> }
    expect(text).toBe('a?,b?')
    expect(_meta?.['example.com/who']).toBe('who?')
  })

  everyForm('may be in a mounted server, with awaited or returned questions', async (wire) => {
    const shop = serverOf()
    let effects = 0
    shop.registerTool('await', {}, async (_args, ctx) => {
      await ctx.once('effect', () => ++effects)
      return namesFor(ctx, 'a', 'b')
    })
    shop.registerTool('hand', {}, (_args, ctx) => {
      const name = acceptedContent(ctx.inputResponses, 'k')?.name
      if (name) return `${name} ${ctx.requestState}`
      const k = inputRequired.elicit({ message: 'k?', requestedSchema: nameForm })
      return inputRequired({ inputRequests: { k }, requestState: 'kept' })
    })
    shop.registerPrompt('await', {}, (_args, ctx) => namesFor(ctx, 'p'))
    shop.registerResource('await', 'shop://await', {}, (_uri, ctx) => namesFor(ctx, 'r'))
    shop.use(async ({ ctx, method }, next) => {
      if (method === 'tools/call') await namesFor(ctx, 'inner')
      return next()
    })
    const server = serverOf()
    server.mount(shop, { prefix: 'shop' })
    await using pair = await wire.connect(server, { handlers: echoing })
    const names = (await pair.client.listTools()).tools.map(({ name }) => name)
    const [awaiting, byHand] = names as [string, string]
    expect((await pair.client.callTool(awaiting)).text).toBe('a?,b?')
    expect(effects).toBe(1)
    expect((await pair.client.callTool(byHand)).text).toBe('k? kept')
    const [prompt] = (await pair.client.listPrompts()).prompts
    expect(JSON.stringify(await pair.client.getPrompt(prompt!.name))).toContain('p?')
    const [resource] = (await pair.client.listResources()).resources
    expect(JSON.stringify(await pair.client.readResource(resource!.uri))).toContain('r?')
  })

  everyForm('sends the progress and the logs of every round trip to the caller', async (wire) => {
    const server = serverOf({ capabilities: { logging: {} } })
    server.registerTool('work', {}, async (_args, ctx) => {
      ctx.progress(1)
      ctx.log.info('before')
      await namesFor(ctx, 'k')
      ctx.progress(2)
      ctx.log.info('after')
      return 'done'
    })
    await using pair = await wire.connect(server, { handlers: echoing })
    const logs: unknown[] = []
    pair.client.on('log', ({ data }) => logs.push(data))
    await pair.client.setLoggingLevel('info')
    const values: number[] = []
    const onProgress = ({ progress }: { progress: number }) => values.push(progress)
    expect((await pair.client.callTool('work', {}, { onProgress })).text).toBe('done')
    const runs = wire.revision.id === modern ? 2 : 1
    expect(values).toEqual(runs === 2 ? [1, 1, 2] : [1, 2])
    expect(logs).toEqual(runs === 2 ? ['before', 'before', 'after'] : ['before', 'after'])
  })
})
