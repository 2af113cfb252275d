import { CapabilityError } from 'tenon'
import { McpServer } from 'tenon/server'
import { describe, expect } from 'vitest'
import * as z from 'zod'
import { everyWire } from '../../kit/every-wire.ts'
import { everyAsking, everyForm, everyPage } from './support.ts'

const info = { name: 'asker', version: '1.0.0' }

describe('a handler that awaits the user', () => {
  everyForm('receives the content of the form [ELIC-009, MRTR-002]', async (wire) => {
    const server = new McpServer(info)
    server.registerTool('deploy', { inputSchema: { app: z.string() } }, async ({ app }, ctx) => {
      const answer = await ctx.elicit(`Deploy ${app}?`, z.object({ env: z.enum(['staging', 'live']) }))
      return answer.action === 'accept' ? `${app} is on ${answer.content.env}` : answer.action
    })
    const seen: unknown[] = []
    await using pair = await wire.connect(server, {
      handlers: {
        elicit: ({ message, requestedSchema }, { server }) => {
          seen.push(message, Object.keys(requestedSchema.properties), server.name)
          return { action: 'accept', content: { env: 'live' } }
        },
      },
    })
    expect((await pair.client.callTool('deploy', { app: 'shop' })).text).toBe('shop is on live')
    expect(seen).toEqual(['Deploy shop?', ['env'], 'asker'])
  })

  everyForm('receives decline and cancel as values [ELIC-017, ELIC-020]', async (wire) => {
    const server = new McpServer(info)
    server.registerTool('ask', {}, async (_args, ctx) => {
      const answers = [await ctx.elicit('One?'), await ctx.elicit('Two?')]
      return answers.map(({ action }) => action).join()
    })
    const actions = ['decline', 'cancel'] as const
    let count = 0
    await using pair = await wire.connect(server, { handlers: { elicit: () => ({ action: actions[count++ % 2]! }) } })
    expect((await pair.client.callTool('ask')).text).toBe('decline,cancel')
    expect(count).toBe(2)
  })

  everyForm('can ask three times in a row, and ctx.once runs once', async (wire) => {
    let plans = 0
    const server = new McpServer(info)
    server.registerTool('plan', {}, async (_args, ctx) => {
      const plan = await ctx.once('plan', () => ({ number: ++plans }))
      const names: string[] = []
      for (const key of ['a', 'b', 'c']) {
        const answer = await ctx.elicit(`Name ${key}?`, z.object({ name: z.string() }), { key })
        if (answer.action === 'accept') names.push(answer.content.name)
      }
      return `${plan.number}: ${names.join()}`
    })
    await using pair = await wire.connect(server, {
      handlers: { elicit: ({ message }) => ({ action: 'accept', content: { name: message.slice(5, 6) } }) },
    })
    expect((await pair.client.callTool('plan')).text).toBe('1: a,b,c')
    expect(plans).toBe(1)
  })

  everyForm('sends concurrent questions in one round trip', async (wire) => {
    const server = new McpServer(info)
    server.registerTool('both', {}, async (_args, ctx) => {
      const schema = z.object({ n: z.number() })
      const [one, two] = await Promise.all([ctx.elicit('One?', schema), ctx.elicit('Two?', schema)])
      return one.action === 'accept' && two.action === 'accept' ? `${one.content.n + two.content.n}` : 'no'
    })
    let open = 0
    let most = 0
    await using pair = await wire.connect(server, {
      handlers: {
        elicit: async ({ message }) => {
          most = Math.max(most, ++open)
          await new Promise((resolve) => setTimeout(resolve, 20))
          open--
          return { action: 'accept', content: { n: message === 'One?' ? 1 : 2 } }
        },
      },
    })
    expect((await pair.client.callTool('both')).text).toBe('3')
    expect(most).toBe(2)
  })

  everyAsking('can request a completion from the model of the client [SAMP-005, SAMP-006]', async (wire) => {
    const server = new McpServer(info)
    server.registerPrompt('poem', {}, async (_args, ctx) => {
      const message = { role: 'user' as const, content: { type: 'text' as const, text: 'A line about the sea' } }
      const { text, model } = await ctx.sample({ messages: [message], maxTokens: 50 })
      return `${model}: ${text}`
    })
    await using pair = await wire.connect(server, {
      handlers: {
        sample: ({ messages, maxTokens }) => ({
          role: 'assistant',
          model: 'm-1',
          content: { type: 'text', text: `${messages.length}/${maxTokens} waves` },
        }),
      },
    })
    const { messages } = await pair.client.getPrompt('poem')
    expect(messages[0]!.content).toEqual({ type: 'text', text: 'm-1: 1/50 waves' })
  })

  everyAsking('can list the roots of the client while it reads a resource [ROOT-003]', async (wire) => {
    const server = new McpServer(info)
    server.registerResource('roots', 'roots://all', {}, async (_uri, ctx) => {
      const roots = await ctx.roots()
      return roots.map(({ uri, name }) => `${name}=${uri}`).join()
    })
    await using pair = await wire.connect(server, { handlers: { roots: [{ uri: 'file:///home/me', name: 'me' }] } })
    const { contents } = await pair.client.readResource('roots://all')
    expect(contents[0]).toMatchObject({ text: 'me=file:///home/me' })
  })

  everyPage('can send the user to a URL [ELIC-022]', async (wire) => {
    const server = new McpServer(info)
    server.registerTool('login', {}, async (_args, ctx) => {
      const { action, complete } = await ctx.elicitUrl(
        'Log in there',
        `https://example.com/login?state=${Math.random()}`,
      )
      complete()
      return action
    })
    const seen: string[] = []
    await using pair = await wire.connect(server, {
      handlers: {
        elicitUrl: ({ url, message }) => {
          seen.push(`${message} ${url.host}`)
          return { action: 'accept' }
        },
      },
    })
    expect((await pair.client.callTool('login')).text).toBe('accept')
    expect(seen).toEqual(['Log in there example.com'])
  })

  everyWire(
    'gets a CapabilityError when the client does not support the question [SAMP-003, ELIC-005, MRTR-007]',
    async (wire) => {
      const server = new McpServer(info)
      const caught: unknown[] = []
      server.registerTool('ask', {}, async (_args, ctx) => {
        expect(
          ['elicit', 'elicitUrl', 'sample', 'sampleTools', 'roots'].map((each) => ctx.can(each as 'roots')),
        ).toEqual(new Array(5).fill(false))
        try {
          await ctx.sample({ messages: [], maxTokens: 1 })
        } catch (error) {
          caught.push(error)
        }
        return 'went on'
      })
      await using pair = await wire.connect(server)
      expect((await pair.client.callTool('ask')).text).toBe('went on')
      expect(caught[0]).toBeInstanceOf(CapabilityError)
      expect(caught[0]).toMatchObject({ code: 'capability-missing', required: { sampling: {} } })
    },
    { transports: ['memory', 'stdio', 'http', 'http-stateless'] },
  )
})
