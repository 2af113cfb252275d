import { describe, expect, it } from 'vitest'
import { connect } from '../../src/connect/connect.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { deferred } from '../../src/util/deferred.ts'
import { eventually } from '../kit/eventually.ts'
import { serveGateway } from './gateway-support.ts'
import { echo } from './support.ts'

const size = { type: 'object' as const, properties: { size: { type: 'string' } }, required: ['size'] }

describe('a call whose server stops waiting for the answer', () => {
  it('gives its result to a caller that answers late, and runs once', async () => {
    const server = new McpServer({ name: 'shop', version: '1' }, { revisions: ['2025-11-25'] })
    let runs = 0
    const impatient = new AbortController()
    const ended = deferred<void>()
    server.registerTool('buy', {}, async (_, ctx) => {
      runs++
      const answer = await ctx.elicit('Which size?', size, { signal: impatient.signal }).catch(() => undefined)
      return answer ? 'bought' : 'bought the default'
    })
    await using gateway = await serveGateway({ shop: { server } })
    const elicit = async () => {
      impatient.abort()
      await ended.promise
      return { action: 'accept' as const, content: { size: 'M' } }
    }
    await using client = await connect(gateway.url, { revision: '2026-07-28', handlers: { elicit } })
    const call = client.callTool('shop_buy')
    await eventually(() => impatient.signal.aborted)
    // Another call on the same gateway, so that the first one has ended.
    await using other = await connect(gateway.url, { revision: '2026-07-28' })
    await other.listTools().all()
    ended.resolve()
    expect((await call).text).toBe('bought the default')
    expect(runs).toBe(1)
  })
})

describe('a question for approval', () => {
  it('says that the arguments are longer than what it shows', async () => {
    const policy = [{ kind: 'tool', decide: 'ask' }, { decide: 'allow' }] as const
    await using gateway = await serveGateway({ s: { server: echo() } }, { host: { policy } })
    const asked: string[] = []
    const elicit = ({ message }: { message: string }) => {
      asked.push(message)
      return { action: 'decline' as const }
    }
    await using client = await connect(gateway.url, { revision: '2025-11-25', handlers: { elicit } })
    await client.callTool('s_echo', { text: `${'a'.repeat(5_000)} and delete everything` })
    expect(asked[0]).toMatch(/more characters/)
    await client.callTool('s_echo', { text: 'short' })
    expect(asked[1]).not.toMatch(/more characters/)
  })
})

describe('replayed calls', () => {
  it.each(['once', 'session'])('mix approval (%s) and questions of the server, and run once each', async (decision) => {
    const server = new McpServer({ name: 'shop', version: '1' }, { revisions: ['2026-07-28'] })
    let bought = 0
    server.registerTool('buy', { inputSchema: size }, async (args, ctx) => {
      const one = await ctx.elicit(`Really ${args.size}?`, size)
      const two = await ctx.elicit(`Really ${args.size}?`, size)
      if (one.action !== 'accept' || two.action !== 'accept') return 'nothing'
      await ctx.once('bought', () => bought++)
      return `bought ${args.size} ${JSON.stringify([one.content, two.content])}`
    })
    const policy = [{ kind: 'tool', decide: 'ask' }, { decide: 'allow' }] as const
    const verify = async (token: string) => ({ subject: token, scopes: [] })
    const auth = { verify, resource: 'http://127.0.0.1/mcp', authorizationServers: ['https://login.example'] }
    await using gateway = await serveGateway(
      { shop: { server } },
      { host: { policy, limits: { questionsPerMinute: 1_000 } }, http: { auth } },
    )
    const callers = await Promise.all(
      ['a', 'b', 'c'].map(async (name) => {
        const asked: string[] = []
        let count = 0
        const elicit = ({ message }: { message: string }) => {
          asked.push(message)
          if (message.includes('approval')) return { action: 'accept' as const, content: { decision } }
          return { action: 'accept' as const, content: { size: `${name}${++count}` } }
        }
        const headers = { authorization: `Bearer ${name}` }
        return {
          name,
          asked,
          client: await connect(gateway.url, { revision: '2026-07-28', headers, handlers: { elicit } }),
        }
      }),
    )
    for (let round = 1; round <= 2; round++) {
      const results = await Promise.all(callers.map(({ client, name }) => client.callTool('shop_buy', { size: name })))
      for (const [index, { name }] of callers.entries()) {
        const numbers = round === 1 ? [1, 2] : [3, 4]
        expect(results[index]?.text).toBe(
          `bought ${name} ${JSON.stringify(numbers.map((number) => ({ size: `${name}${number}` })))}`,
        )
      }
    }
    for (const { asked, client } of callers) {
      expect(asked.filter((message) => message.includes('approval'))).toHaveLength(decision === 'once' ? 2 : 1)
      await client.close()
    }
    expect(bought).toBe(6)
  })
})
