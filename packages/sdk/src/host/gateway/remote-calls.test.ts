import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { McpError, PeerError, ProtocolError } from '../../errors.ts'
import type { Context } from '../../server/context.ts'
import { MemoryBus } from '../../store/memory/bus.ts'
import type { Bus } from '../../store/ports.ts'
import { deferred } from '../../util/deferred.ts'
import { RelayedCall } from './relayed-call.ts'
import { isRemote, RemoteCalls } from './remote-calls.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

const question = { method: 'elicitation/create', params: { message: 'Which size?' } } as never
const parkedMs = 30_000

/** Two nodes on one bus. The first has a call that runs until `result` settles; the second drives it. */
function twoNodes({ bus = new MemoryBus(), driverBus = bus }: { bus?: Bus; driverBus?: Bus } = {}) {
  const errors: unknown[] = []
  const onError = (error: unknown) => void errors.push(error)
  const calls = new Map<string, RelayedCall>()
  const owners: (string | undefined)[] = []
  const find = (ticket: string, owner: string | undefined) => {
    owners.push(owner)
    return owner === 'alice' ? calls.get(ticket) : undefined
  }
  const home = new RemoteCalls({ bus, parkedMs: 1, find, onError })
  const driver = new RemoteCalls({ bus: driverBus, parkedMs, find: () => undefined, onError })
  const ticket = `${home.node}/1`
  // The request that began the call has ended, so nothing of it is used.
  const ctx = { caller: { rules: {} } } as unknown as Context
  const call = new RelayedCall({ ticket, server: 'shop', ctx })
  calls.set(ticket, call)
  const result = deferred<object>()
  call.start(
    () => result.promise,
    () => {},
  )
  const heard: unknown[] = []
  const listener = {
    onProgress: (progress: unknown) => void heard.push(progress),
    onLog: (message: unknown) => void heard.push(message),
  }
  const attach = async (owner = 'alice') => (await driver.attach(ticket, owner, listener))!
  return { home, driver, ticket, call, result, heard, listener, attach, errors, owners, bus }
}

/** Advances the time, and returns what the promise resolved or rejected with meanwhile. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T | 'pending' | Error> {
  let outcome: T | 'pending' | Error = 'pending'
  promise.then(
    (value) => (outcome = value),
    (error: Error) => (outcome = error),
  )
  await vi.advanceTimersByTimeAsync(ms)
  return outcome
}

it('passes questions, answers, progress, log messages and the result of a call on between two nodes', async () => {
  const { call, result, heard, attach, home, driver, ticket, owners } = twoNodes()
  expect([isRemote(ticket, driver.node), isRemote(ticket, home.node)]).toEqual([true, false])
  const driven = await attach()
  expect(owners).toEqual(['alice'])
  call.onProgress({ progress: 1, total: 2 } as never)
  call.relayed.onLog?.({ level: 'info', data: 'half' })
  expect(heard).toEqual([
    { progress: 1, total: 2 },
    { level: 'info', data: 'half' },
  ])
  const answer = call.ask(question, new AbortController().signal)
  expect(await within(10, driven.next())).toEqual({ questions: [{ key: 'q1', request: question }] })
  driven.answer('q1', { action: 'accept' })
  expect(await within(10, answer)).toEqual({ action: 'accept' })
  const end = driven.next()
  result.resolve({ content: [] })
  expect(await within(10, end)).toEqual({ result: { content: [] } })
  expect(vi.getTimerCount()).toBe(0)
})

it.each([
  [new PeerError(-32_001, 'no shop', { shop: 1 }), { rpcCode: -32_001, data: { shop: 1 } }, PeerError],
  [new ProtocolError(-32_602, 'no size', { size: 1 }), { rpcCode: -32_602, data: { size: 1 } }, ProtocolError],
  [new McpError('timeout', 'too late'), { code: 'timeout' }, McpError],
  [new Error('broken'), { code: 'closed' }, McpError],
  ['a text', { code: 'closed', message: 'a text' }, McpError],
])('keeps the kind, code and data of an error between two nodes (%s)', async (error, members, kind) => {
  const { call, result, attach } = twoNodes()
  const driven = await attach()
  const answer = call.ask(question, new AbortController().signal)
  const message = error instanceof Error ? error.message : error
  driven.refuse('q1', error)
  const refused = await within(10, answer)
  const next = driven.next()
  result.reject(error)
  const failed = await within(10, next)
  for (const received of [refused, failed]) {
    expect(received).toBeInstanceOf(kind)
    const { rpcCode, code, data } = received as ProtocolError & PeerError
    expect({ rpcCode, code, data, message: (received as Error).message }).toMatchObject({ message, ...members })
  }
  expect(vi.getTimerCount()).toBe(0)
})

it('attaches neither to a call that is not open any more nor to one of another owner', async () => {
  const { driver, home, listener, attach } = twoNodes()
  expect(await attach('bob')).toBeUndefined()
  expect(await driver.attach(`${home.node}/1`, undefined, listener)).toBeUndefined()
  expect(await driver.attach(`${home.node}/2`, 'alice', listener)).toBeUndefined()
  expect(vi.getTimerCount()).toBe(0)
})

it('gives a node up that says nothing for 15 seconds', async () => {
  const { driver, listener } = twoNodes()
  const attached = driver.attach('a-node-that-ended/1', 'alice', listener)
  expect(await within(14_900, attached)).toBe('pending')
  expect(await within(200, attached)).toMatchObject({ message: expect.stringContaining('was not repeated') })
  expect(vi.getTimerCount()).toBe(0)
})

it('waits for a call that takes long, while both nodes say that they work on it', async () => {
  const { attach, result, call } = twoNodes()
  const next = (await attach()).next()
  expect(await within(120_000, next)).toBe('pending')
  expect(call.signal.aborted).toBe(false)
  result.resolve({ content: [] })
  expect(await within(10, next)).toEqual({ result: { content: [] } })
  expect(vi.getTimerCount()).toBe(0)
})

it('keeps a call open while its driver waits for the caller without a request to it', async () => {
  const { attach, call } = twoNodes()
  const driven = await attach()
  await vi.advanceTimersByTimeAsync(120_000)
  expect(call.signal.aborted).toBe(false)
  driven.cancel('enough')
  expect(call.signal.reason).toBe('enough')
})

it('parks a call whose driver has ended, for the time that the driver stated', async () => {
  let isDead = false
  const bus = new MemoryBus()
  const driverBus: Bus = {
    publish: (topic, message) => (isDead ? undefined : bus.publish(topic, message)),
    subscribe: (topic, listener) => bus.subscribe(topic, (message) => (isDead ? undefined : listener(message))),
  }
  const { attach, call, heard } = twoNodes({ bus, driverBus })
  const driven = await attach()
  isDead = true
  await vi.advanceTimersByTimeAsync(15_000)
  expect(call.signal.aborted).toBe(false)
  isDead = false
  call.onProgress({ progress: 1 } as never)
  expect(heard).toEqual([])
  expect(await within(0, driven.next())).toMatchObject({ message: expect.stringContaining('has stopped') })
  await vi.advanceTimersByTimeAsync(parkedMs - 100)
  expect(call.signal.aborted).toBe(false)
  await vi.advanceTimersByTimeAsync(200)
  expect(call.signal.aborted).toBe(true)
})

it('parks a call until its caller comes back, and cancels it if that takes too long', async () => {
  const { attach, call } = twoNodes()
  const first = await attach()
  first.park(2_000)
  await vi.advanceTimersByTimeAsync(1_900)
  const second = await attach()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(call.signal.aborted).toBe(false)
  second.park(2_000)
  await vi.advanceTimersByTimeAsync(2_100)
  expect(call.signal.aborted).toBe(true)
  expect(vi.getTimerCount()).toBe(0)
})

it('answers commands for calls that it does not have, but not to a sign of life', async () => {
  const { home, bus, ticket } = twoNodes()
  const replies: unknown[] = []
  await bus.subscribe('gateway replies somewhere', (text) => void replies.push(JSON.parse(text)))
  for (const command of ['alive', 'next', 'cancel'])
    await bus.publish(`gateway ${home.node}`, JSON.stringify({ from: 'somewhere', id: command, ticket, do: command }))
  expect(replies).toEqual([
    { id: 'next', is: 'unknown' },
    { id: 'cancel', is: 'unknown' },
  ])
})

it('ends what it waits for when it is closed, and receives nothing any more', async () => {
  const { attach, home, driver, call, owners, result } = twoNodes()
  const driven = await attach()
  const next = driven.next()
  await Promise.all([within(0, next), driver.close()])
  await expect(next).rejects.toThrow('has stopped')
  await home.close()
  void driven.cancel('late')
  expect(call.signal.aborted).toBe(false)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(call.signal.aborted).toBe(false)
  result.resolve({ content: [] })
  await vi.advanceTimersByTimeAsync(0)
  expect(vi.getTimerCount()).toBe(0)
  const again = attach()
  expect(await within(15_100, again)).toBeInstanceOf(ProtocolError)
  expect(owners).toHaveLength(1)
})

it('reports a bus that does not take messages or subscriptions', async () => {
  const broken = () => Promise.reject(new Error('no bus'))
  const { attach, errors, call } = twoNodes({ driverBus: { publish: broken, subscribe: () => () => {} } })
  expect(await within(15_100, attach())).toBeInstanceOf(ProtocolError)
  expect(errors).toContainEqual(new Error('no bus'))
  expect(call.ended).toBe(false)
  const unsubscribable = twoNodes({ driverBus: { publish: () => {}, subscribe: broken } })
  await vi.advanceTimersByTimeAsync(1)
  expect(unsubscribable.errors).toEqual([new Error('no bus')])
  await expect(unsubscribable.attach()).rejects.toThrow('no bus')
  await unsubscribable.driver.close()
})
