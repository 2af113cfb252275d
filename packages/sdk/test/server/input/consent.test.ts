import { inputRequired, McpServer } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { everyAsking, everyForm } from './support.ts'

const info = { name: 'bank', version: '1.0.0' }
const yes = { elicit: () => ({ action: 'accept' as const, content: { word: 'yes' } }) }
const word = z.object({ word: z.string() })

describe('an answer', () => {
  everyForm('applies only to the question that was shown, even when the handler runs again', async (wire) => {
    let amount = 1
    const server = new McpServer(info)
    server.registerTool('pay', {}, async (_args, ctx) => {
      const { action } = await ctx.elicit(`Pay ${amount}?`, word, { key: 'sure' })
      if (ctx.inputResponses.more === undefined) {
        amount = 1_000_000
        const more = inputRequired.elicit({ message: 'More?', requestedSchema: word })
        return inputRequired({ inputRequests: { more }, requestState: 'more' })
      }
      return `${action} ${amount}`
    })
    const shown: string[] = []
    await using pair = await wire.connect(server, {
      handlers: {
        elicit: ({ message }) => {
          shown.push(message)
          return yes.elicit()
        },
      },
    })
    expect((await pair.client.callTool('pay')).text).toBe('accept 1000000')
    expect(shown).toEqual(['Pay 1?', 'More?', 'Pay 1000000?'])
  })

  everyAsking('from a model applies only to the messages that the model received', async (wire) => {
    let isSwapped = false
    const server = new McpServer(info)
    server.registerTool('judge', {}, async (_args, ctx) => {
      const texts = isSwapped ? ['b', 'a'] : ['a', 'b']
      isSwapped = true
      const verdicts = texts.map(async (text) => {
        const messages = [{ role: 'user' as const, content: { type: 'text' as const, text } }]
        return `${text}=${(await ctx.sample({ messages, maxTokens: 5 })).text}`
      })
      return (await Promise.all(verdicts)).sort().join()
    })
    await using pair = await wire.connect(server, {
      handlers: {
        sample: ({ messages }) => {
          const { text } = messages[0]!.content as { text: string }
          return { role: 'assistant', model: 'm', content: { type: 'text', text: `about ${text}` } }
        },
      },
    })
    expect((await pair.client.callTool('judge')).text).toBe('a=about a,b=about b')
  })
})

describe('a handler that returns a question and then awaits another', () => {
  everyForm('keeps its state and its answers', async (wire) => {
    const server = new McpServer(info)
    server.registerTool('order', {}, async (_args, ctx) => {
      const who = ctx.inputResponses.who as { content?: { word?: string } } | undefined
      if (!who) {
        const question = inputRequired.elicit({ message: 'Who?', requestedSchema: word })
        return inputRequired({ inputRequests: { who: question }, requestState: { step: 1 } })
      }
      const sure = await ctx.elicit('Sure?', word)
      return `${who.content?.word} ${sure.action} ${JSON.stringify(ctx.requestState)}`
    })
    const shown: string[] = []
    await using pair = await wire.connect(server, {
      handlers: {
        elicit: ({ message }) => {
          shown.push(message)
          return { action: 'accept', content: { word: message } }
        },
      },
    })
    expect((await pair.client.callTool('order')).text).toBe('Who? accept {"step":1}')
    expect(shown).toEqual(['Who?', 'Sure?'])
  })
})

describe('a handler that catches everything and asks again', () => {
  everyForm('does not block the process', async (wire) => {
    const server = new McpServer(info)
    server.registerTool('stubborn', {}, async (_args, ctx) => {
      for (;;) {
        try {
          return (await ctx.elicit('Now?')).action
        } catch {
          // Ask again.
        }
      }
    })
    await using pair = await wire.connect(server, { handlers: { elicit: () => ({ action: 'accept' }) } })
    const result = await pair.client.callTool('stubborn').catch((error) => error)
    if (wire.revision.era === 'handshake') expect(result.text).toBe('accept')
    else expect(result.message).toMatch(/asked more than 100 questions at once/)
  })

  it('stops asking after its request was cancelled', async () => {
    let asked = 0
    const server = new McpServer(info)
    const { connect } = await import('tenon/client')
    server.registerTool('stubborn', {}, async (_args, ctx) => {
      for (;;) {
        asked++
        const answer = await ctx.elicit('Now?').catch(() => undefined)
        if (answer) return answer.action
      }
    })
    const client = await connect(server, {
      revision: '2025-11-25',
      handlers: { elicit: () => new Promise(() => {}) },
    })
    const stop = new AbortController()
    const call = client.callTool('stubborn', {}, { signal: stop.signal })
    setTimeout(() => stop.abort(), 20)
    await expect(call).rejects.toMatchObject({ code: 'cancelled' })
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(asked).toBeLessThan(200)
    await client.close()
  })
})

describe('a stateKey', () => {
  it.each(['', 'short', new Uint8Array(16)])('must be long enough: %j', (stateKey) => {
    expect(() => new McpServer(info, { stateKey })).toThrow(/32 random/)
    expect(() => new McpServer(info, { stateKeys: ['x'.repeat(32), stateKey] })).toThrow(/32 random/)
  })
})
