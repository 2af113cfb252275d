import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { RpcRequest } from '../jsonrpc/message.ts'
import { Sealer } from '../util/sealer.ts'
import { emptyJournal } from './journal.ts'
import { SealedStates, type StateLimits } from './sealed-states.ts'
import { MemoryClaims } from './used-states.ts'

interface TestCall {
  readonly request: RpcRequest
  readonly user?: string
}

const sealer = new Sealer(['a secret of at least 32 characters'])
const none = { maxRounds: 3, stateTtlMs: 1_000, maxStateBytes: 10_000, claims: undefined, claimsAll: false }
const statesOf = (limits: Partial<StateLimits> = {}, serverName = 'shop') =>
  new SealedStates<TestCall>({
    serverName,
    sealer,
    limits: { ...none, ...limits },
    principalOf: ({ user }) => user,
    accountOf: ({ user }) => (user === undefined ? undefined : { name: user, isAddress: false }),
    isRepeatable: ({ params }) => params?.name === 'read',
  })
const callOf = (args: unknown, user?: string, method = 'tools/call', name = 'pay'): TestCall => ({
  request: { jsonrpc: '2.0', id: 1, method, params: { name, arguments: args as never } },
  ...(user !== undefined && { user }),
})
const state = { journal: emptyJournal, handlerState: 'kept' }
const foreign = 'was not issued for this request'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: 10_000 })
  vi.spyOn(console, 'warn').mockImplementation(() => {})
})

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

describe('a sealed state', () => {
  it('belongs to one request: its server, caller, method and arguments [MRTR-022]', async () => {
    const text = await statesOf().save(state, callOf({ a: 1, b: [1, { c: 2 }] }, 'ann'))
    const load = (call: TestCall, server = 'shop') => statesOf({}, server).load(text, call)
    expect((await load(callOf({ b: [1, { c: 2 }], a: 1 }, 'ann'))).handlerState).toBe('kept')
    const same = { a: 1, b: [1, { c: 2 }] }
    await expect(load(callOf(same, 'ann'), 'bank')).rejects.toThrow(foreign)
    for (const other of [
      callOf(same, 'bob'),
      callOf(same),
      callOf(same, 'ann', 'prompts/get'),
      callOf(same, 'ann', 'tools/call', 'refund'),
      callOf({ a: 1, b: [{ c: 2 }, 1] }, 'ann'),
      callOf({ a: 1, b: { 0: 1, 1: { c: 2 } } }, 'ann'),
      callOf({ a: '1', b: [1, { c: 2 }] }, 'ann'),
      callOf({ a: 1, b: [1, { c: 2 }], d: null }, 'ann'),
    ]) {
      await expect(load(other)).rejects.toThrow(foreign)
    }
  })

  it.each([
    ['1e999', 'null'],
    ['1e999', '-1e999'],
    ['null', '1e999'],
    ['{"number":"Infinity"}', '1e999'],
    ['1e999', '{"number":"Infinity"}'],
    ['{"members":[["a",1]]}', '{"a":1}'],
  ])('for the argument %s does not work with %s [MRTR-022]', async (first, second) => {
    const [call, other] = [callOf({ amount: JSON.parse(first) }), callOf({ amount: JSON.parse(second) })]
    const text = await statesOf().save(state, call)
    expect((await statesOf().load(text, call)).handlerState).toBe('kept')
    await expect(statesOf().load(text, other)).rejects.toThrow(foreign)
  })

  it('does not depend on what a repeated request adds', async () => {
    const { request } = callOf({ a: 1 })
    const text = await statesOf().save(state, { request })
    const params = { ...request.params, _meta: { x: 1 }, inputResponses: { k: {} }, requestState: text }
    expect((await statesOf().load(text, { request: { ...request, params } })).handlerState).toBe('kept')
  })

  it('expires at the end of its time', async () => {
    const text = await statesOf().save(state, callOf({}))
    vi.setSystemTime(10_999)
    await statesOf().load(text, callOf({}))
    vi.setSystemTime(11_000)
    await expect(statesOf().load(text, callOf({}))).rejects.toThrow('has expired')
  })

  it('has a limited length, when it is saved and when it is loaded', async () => {
    const text = await statesOf().save(state, callOf({}))
    expect(await statesOf({ maxStateBytes: text.length }).save(state, callOf({}))).toHaveLength(text.length)
    await expect(statesOf({ maxStateBytes: text.length - 1 }).save(state, callOf({}))).rejects.toThrow('too long')
    await expect(statesOf({ maxStateBytes: 10 }).save(state, callOf({}))).rejects.toThrow('The limit is 10.')
    await statesOf({ maxStateBytes: text.length }).load(text, callOf({}))
    await expect(statesOf({ maxStateBytes: text.length - 1 }).load(text, callOf({}))).rejects.toThrow(foreign)
  })

  it('works once where claims are kept, unless the request can be repeated without harm [MRTR-022]', async () => {
    const claims = new MemoryClaims()
    const states = statesOf({ claims })
    const [pay, read] = [callOf({}, 'ann'), callOf({}, 'ann', 'tools/call', 'read')]
    const paying = await states.save(state, pay)
    const loaded = await states.load(paying, pay)
    await expect(states.load(paying, pay)).rejects.toThrow('was already used')
    states.release(loaded)
    await states.load(paying, pay)
    const reading = await states.save(state, read)
    for (let count = 0; count < 2; count++) await states.load(reading, read)
    const strict = statesOf({ claims, claimsAll: true })
    await strict.load(reading, read)
    await expect(strict.load(reading, read)).rejects.toThrow('was already used')
  })

  it('is refused as expired where its caller has used too many', async () => {
    const states = statesOf({ claims: { claim: () => 'expired' } })
    const text = await states.save(state, callOf({}))
    await expect(states.load(text, callOf({}))).rejects.toThrow('has expired')
  })
})
