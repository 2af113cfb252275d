import { describe, expect, it } from 'vitest'
import { acceptedContent, inputRequired } from '../../src/entry/server.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { post, serveGateway } from './gateway-support.ts'

const named = { type: 'object' as const, properties: { name: { type: 'string' } }, required: ['name'] }
const accept = (name: unknown) => ({ action: 'accept', content: { name } })

function newServer() {
  return new McpServer({ name: 'x', version: '1' }, { revisions: ['2026-07-28'] })
}

/** A server that keeps nothing between two requests: it asks, and reads the answer of the next request. */
function forgetful() {
  const server = newServer()
  const counts = { calls: 0, greeted: 0 }
  server.registerTool('greet', {}, (_, ctx) => {
    counts.calls++
    const accepted = acceptedContent(ctx.inputResponses, 'user_name')
    if (!accepted) {
      const user_name = inputRequired.elicit({ message: 'Name?', requestedSchema: named })
      return inputRequired({ inputRequests: { user_name } })
    }
    counts.greeted++
    return `Hello, ${accepted.name}!`
  })
  return { server, counts }
}

async function call(url: string, name: string, more: object = {}) {
  const { body } = await post(url, 'tools/call', { name, arguments: {}, ...more })
  const { inputRequests = {}, requestState, content } = body.result ?? {}
  return { keys: Object.keys(inputRequests as object), requestState, content: JSON.stringify(content), body }
}

describe('the keys of questions through a gateway', () => {
  it('are those that a server of 2026-07-28 chose', async () => {
    const { server, counts } = forgetful()
    await using gateway = await serveGateway({ s: { server } })
    const first = await call(gateway.url, 's_greet')
    expect(first.keys).toEqual(['user_name'])
    const { requestState } = first
    const second = await call(gateway.url, 's_greet', { requestState, inputResponses: { user_name: accept('Ada') } })
    expect(second.content).toContain('Hello, Ada!')
    expect(counts).toEqual({ calls: 2, greeted: 1 })
  })

  it('are unique within a call if the server uses the same key again', async () => {
    const server = newServer()
    server.registerTool('twice', {}, (_, ctx) => {
      const accepted = acceptedContent(ctx.inputResponses, 'step')
      const state = ctx.requestState as string[] | undefined
      if (state && accepted) state.push(String(accepted.name))
      if (state?.length === 2) return state.join()
      const step = inputRequired.elicit({ message: `Step ${state?.length ?? 0}`, requestedSchema: named })
      return inputRequired({ inputRequests: { step }, requestState: state ?? [] })
    })
    await using gateway = await serveGateway({ s: { server } })
    const first = await call(gateway.url, 's_twice')
    expect(first.keys).toEqual(['step'])
    const { requestState } = first
    const second = await call(gateway.url, 's_twice', { requestState, inputResponses: { step: accept('a') } })
    expect(second.keys).toEqual(['step#2'])
    const inputResponses = { 'step#2': accept('b') }
    const third = await call(gateway.url, 's_twice', { requestState: second.requestState, inputResponses })
    expect(third.content).toContain('a,b')
  })

  it.each(['url#1', '__proto__', 'x'.repeat(65), 'a\nb', ''])(
    'are replaced if they are not names (%j), and the answer reaches the server',
    async (key) => {
      const server = newServer()
      server.registerTool('ask', {}, async (_, ctx) => (await ctx.elicit('Name?', named, { key })).action)
      await using gateway = await serveGateway({ s: { server } })
      const { keys, requestState } = await call(gateway.url, 's_ask')
      expect(keys).toEqual([expect.stringMatching(/^#[a-z0-9]{10}$/)])
      const second = await call(gateway.url, 's_ask', { requestState, inputResponses: { [keys[0]!]: accept('Ada') } })
      expect(second.content).toContain('accept')
    },
  )

  it('do not let an answer to a question count as the approval to ask it', async () => {
    const { server, counts } = forgetful()
    const policy = [{ kind: 'elicitation', decide: 'ask' }, { decide: 'allow' }] as const
    await using gateway = await serveGateway({ s: { server } }, { host: { policy } })
    const first = await call(gateway.url, 's_greet', { inputResponses: { user_name: accept('Ada') } })
    expect(first.keys).toEqual([expect.stringMatching(/^#/)])
    expect(counts.greeted).toBe(0)
  })
})

describe('an answer that comes before its question', () => {
  const inputResponses = { user_name: accept('Ada'), unknown: accept('Bob') }

  it('is used when the server asks, and other answers are ignored', async () => {
    const { server, counts } = forgetful()
    await using gateway = await serveGateway({ s: { server } })
    expect((await call(gateway.url, 's_greet', { inputResponses })).content).toContain('Hello, Ada!')
    expect(counts).toEqual({ calls: 2, greeted: 1 })
  })

  it('is kept while the caller answers the next question', async () => {
    const server = newServer()
    server.registerTool('ask', {}, async (_, ctx) => {
      const first = await ctx.elicit('Name?', named, { key: 'user_name' })
      const second = await ctx.elicit('Friend?', named, { key: 'friend' })
      return `${first.content?.name} and ${second.content?.name}`
    })
    await using gateway = await serveGateway({ s: { server } })
    const { keys, requestState } = await call(gateway.url, 's_ask', { inputResponses })
    expect(keys).toEqual(['friend'])
    const second = await call(gateway.url, 's_ask', { requestState, inputResponses: { friend: accept('Eve') } })
    expect(second.content).toContain('Ada and Eve')
  })

  it.each([12, 'x', { action: 'accept' }, accept(5)])(
    'is not used if it does not fit the question (%j): the caller is asked',
    async (user_name) => {
      const { server, counts } = forgetful()
      await using gateway = await serveGateway({ s: { server } })
      const { keys } = await call(gateway.url, 's_greet', { inputResponses: { user_name } })
      expect(keys).toEqual(['user_name'])
      expect(counts.greeted).toBe(0)
    },
  )
})
