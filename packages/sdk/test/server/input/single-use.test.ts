import { checkScopes } from 'tenon/auth/server'
import { type McpServer, processStateKey, Server, type UsedStates } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { gate } from '../../kit/gate.ts'
import { anything, bank, expectRefused, nameForm, yes } from './attacks-support.ts'
import { all, everyRaw, type OpenRaw, serverOf, stateOf, textOf, ways, withAnswers } from './round-trips-support.ts'

describe('a requestState that is sent again', () => {
  everyRaw('has no second effect by default [MRTR-022]', async (open) => {
    const { server, paid } = bank()
    await using peer = await open(server)
    const first = await peer.call('pay', {})
    expect(textOf(await peer.call('pay', {}, withAnswers(first, yes)))).toBe('pay: accept')
    const again = await peer.call('pay', {}, withAnswers(first, yes))
    expectRefused(again)
    expect(again.error?.message).toContain('was already used')
    expect(paid).toHaveLength(1)
  })

  everyRaw('has no second effect on a bare server by default [MRTR-022]', async (open) => {
    const runs: string[] = []
    const server = new Server({ name: 'bare', version: '1.0.0' }, { capabilities: { tools: {} } })
    server.setRequestHandler('tools/call', async ({ name }, ctx) => {
      const { action } = await ctx.elicit('Sure?', nameForm, { key: 'sure' })
      runs.push(name)
      return { content: [{ type: 'text', text: action }] }
    })
    await using peer = await open(server as unknown as McpServer)
    const first = await peer.call('pay', {})
    expect(textOf(await peer.call('pay', {}, withAnswers(first, yes)))).toBe('accept')
    expectRefused(await peer.call('pay', {}, withAnswers(first, yes)))
    expect(runs).toEqual(['pay'])
  })

  everyRaw('is refused at once while the first request still runs [MRTR-022]', async (open) => {
    const server = serverOf()
    const started = gate()
    const end = gate()
    let runs = 0
    server.registerTool('slow', { inputSchema: anything }, async (_args, ctx) => {
      await ctx.elicit('Sure?', nameForm, { key: 'sure' })
      runs++
      started.open()
      await end.opened
      return 'done'
    })
    await using peer = await open(server)
    const first = await peer.call('slow', {})
    const running = peer.call('slow', {}, withAnswers(first, yes))
    await started.opened
    expectRefused(await peer.call('slow', {}, withAnswers(first, yes)))
    end.open()
    expect(textOf(await running)).toBe('done')
    expect(runs).toBe(1)
  })

  it('is refused with an error after the response was lost, and a new request works [MRTR-022]', async () => {
    const { server, paid } = bank()
    await using lost = await ways.http(server)
    const requestState = stateOf(await lost.call('pay', {}))
    // The handler runs, but its response never arrives.
    await using other = await ways.http(server)
    await other.call('pay', {}, { requestState, inputResponses: yes })
    const retry = await lost.call('pay', {}, { requestState, inputResponses: yes })
    expectRefused(retry)
    expect(retry.error?.message).toMatch(/may have had an effect/)
    const fresh = await lost.call('pay', {})
    expect(textOf(await lost.call('pay', {}, withAnswers(fresh, yes)))).toBe('pay: accept')
    expect(paid).toHaveLength(2)
  })

  everyRaw('is accepted by tools that are read-only or idempotent, by prompts and by resources', async (open) => {
    const server = repeatable()
    await using peer = await open(server)
    for (const name of ['look', 'set', 'inner_look']) {
      const first = await peer.call(name, {})
      for (const _ of [1, 2]) expect(textOf(await peer.call(name, {}, withAnswers(first, yes))), name).toBe('accept')
    }
    const prompt = await peer.request('prompts/get', { name: 'ask' })
    const resource = await peer.request('resources/read', { uri: 'notes://plan' })
    for (const _ of [1, 2]) {
      const got = await peer.request('prompts/get', { name: 'ask', ...withAnswers(prompt, yes) })
      expect(got.error).toBeUndefined()
      const read = await peer.request('resources/read', { uri: 'notes://plan', ...withAnswers(resource, yes) })
      expect(read.error).toBeUndefined()
    }
  })

  everyRaw('is refused by tools whose hints say the opposite, also in mounted servers [MRTR-022]', async (open) => {
    await using peer = await open(repeatable())
    for (const name of ['change', 'inner_change']) {
      const first = await peer.call(name, {})
      expect(textOf(await peer.call(name, {}, withAnswers(first, yes))), name).toBe('accept')
      expectRefused(await peer.call(name, {}, withAnswers(first, yes)), name)
    }
  })

  everyRaw('is accepted with singleUse: false, and with a key that other processes may have', async (open) => {
    for (const options of [{ questions: { singleUse: false } }, { stateKey: 'k'.repeat(32) }]) {
      const { server, paid } = bank(options)
      await using peer = await open(server)
      const first = await peer.call('pay', {})
      for (const _ of [1, 2]) expect(textOf(await peer.call('pay', {}, withAnswers(first, yes)))).toBe('pay: accept')
      expect(paid).toHaveLength(2)
    }
  })

  everyRaw('is refused with singleUse: true, whatever the tool and the key are [MRTR-022]', async (open) => {
    const server = repeatable({ stateKey: 'k'.repeat(32), questions: { singleUse: true } })
    await using peer = await open(server)
    const first = await peer.call('look', {})
    expect(textOf(await peer.call('look', {}, withAnswers(first, yes)))).toBe('accept')
    expectRefused(await peer.call('look', {}, withAnswers(first, yes)))
  })

  everyRaw('is refused by every server of a process with processStateKey [MRTR-022]', async (open) => {
    const banks = [1, 2, 3].map(() => bank({ stateKey: processStateKey }))
    const call = async (index: number, more?: Record<string, unknown>) => {
      await using peer = await open(banks[index]!.server)
      return await peer.call('pay', {}, more)
    }
    const first = await call(0)
    expect(textOf(await call(1, withAnswers(first, yes)))).toBe('pay: accept')
    for (const index of [0, 1, 2]) expectRefused(await call(index, withAnswers(first, yes)))
    expect(banks.flatMap(({ paid }) => paid)).toHaveLength(1)
  })

  it('is refused if the store of used states fails [MRTR-022]', async () => {
    const singleUse: UsedStates = { claim: () => Promise.reject(new Error('The store is down')) }
    const errors: unknown[] = []
    const { server, paid } = bank({ questions: { singleUse }, onError: (error) => errors.push(error) })
    await using peer = await ways.memory(server)
    const first = await peer.call('pay', {})
    expect((await peer.call('pay', {}, withAnswers(first, yes))).error?.code).toBe(-32603)
    expect(paid).toEqual([])
    expect(errors).toHaveLength(1)
  })

  everyRaw('is accepted after a run that lacked scopes, because the client has to repeat it', async (open: OpenRaw) => {
    const server = serverOf()
    let scopes: string[] = []
    let runs = 0
    server.registerTool('pay', { inputSchema: anything }, async (_args, ctx) => {
      await ctx.elicit('Sure?', nameForm, { key: 'sure' })
      checkScopes({ scopes }, ['pay'])
      runs++
      return 'paid'
    })
    await using peer = await open(server, { capabilities: all })
    const first = await peer.call('pay', {})
    expect((await peer.call('pay', {}, withAnswers(first, yes))).error).toBeDefined()
    scopes = ['pay']
    expect(textOf(await peer.call('pay', {}, withAnswers(first, yes)))).toBe('paid')
    expectRefused(await peer.call('pay', {}, withAnswers(first, yes)))
    expect(runs).toBe(1)
  })
})

/** Creates a server with tools of all kinds, a prompt and a resource that each ask one question. */
function repeatable(options: Parameters<typeof serverOf>[0] = {}): McpServer {
  const [server, inner] = [serverOf(options), serverOf({}, 'inner')]
  const ask = async (_args: unknown, ctx: { elicit: (...args: never[]) => Promise<{ action: string }> }) =>
    (await ctx.elicit(...(['Sure?', nameForm, { key: 'sure' }] as never[]))).action
  for (const each of [server, inner]) {
    each.registerTool('look', { inputSchema: anything, annotations: { readOnlyHint: true } }, ask as never)
    each.registerTool('set', { inputSchema: anything, annotations: { idempotentHint: true } }, ask as never)
    const annotations = { readOnlyHint: false, idempotentHint: false, destructiveHint: false }
    each.registerTool('change', { inputSchema: anything, annotations }, ask as never)
  }
  server.registerPrompt('ask', {}, ask as never)
  server.registerResource('plan', 'notes://plan', {}, ((_uri: URL, ctx: never) => ask(undefined, ctx)) as never)
  return server.mount(inner, { prefix: 'inner' })
}
