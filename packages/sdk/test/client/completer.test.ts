import { createCompleter } from 'tenon/client'
import { completable, McpServer } from 'tenon/server'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import * as z from 'zod'
import { everyWire } from '../kit/every-wire.ts'

const typed = (value: string) => ({
  ref: { type: 'ref/prompt' as const, name: 'greet' },
  argument: { name: 'city', value },
})

describe('a completer', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  const completing = (answer: (value: string) => unknown = (value) => ({ values: [`${value}!`] })) =>
    vi.fn(
      async ({ argument }: { argument: { value: string } }, _options?: { signal?: AbortSignal }) =>
        answer(argument.value) as { values: string[] },
    )

  it('sends one request for input typed in quick succession [COMP-008]', async () => {
    const complete = completing()
    const completer = createCompleter({ complete })
    const found = ['p', 'pa', 'par'].map((value) => completer(typed(value)))
    await vi.advanceTimersByTimeAsync(149)
    expect(complete).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(await Promise.all(found)).toEqual([undefined, undefined, { values: ['par!'] }])
    expect(complete).toHaveBeenCalledTimes(1)
  })

  it('cancels a request that was superseded [COMP-008]', async () => {
    const complete = completing((value) => (value === 'slow' ? new Promise(() => {}) : { values: [value] }))
    const completer = createCompleter({ complete }, { debounceMs: 10 })
    const slow = completer(typed('slow'))
    await vi.advanceTimersByTimeAsync(10)
    const quick = completer(typed('quick'))
    expect(await slow).toBeUndefined()
    expect(complete.mock.calls[0]![1]?.signal?.aborted).toBe(true)
    await vi.advanceTimersByTimeAsync(10)
    expect(await quick).toEqual({ values: ['quick'] })
  })

  it('caches suggestions for a while [COMP-008]', async () => {
    const complete = completing()
    const completer = createCompleter({ complete }, { debounceMs: 10, cacheMs: 1_000 })
    const ask = async (value: string) => {
      const found = completer(typed(value))
      await vi.advanceTimersByTimeAsync(10)
      return found
    }
    expect([await ask('a'), await ask('b'), await ask('a')]).toEqual([
      { values: ['a!'] },
      { values: ['b!'] },
      { values: ['a!'] },
    ])
    expect(complete).toHaveBeenCalledTimes(2)
    await vi.advanceTimersByTimeAsync(1_000)
    await ask('a')
    expect(complete).toHaveBeenCalledTimes(3)
    const other = completer({ ...typed('a'), context: { arguments: { country: 'fr' } } })
    await vi.advanceTimersByTimeAsync(10)
    await other
    expect(complete).toHaveBeenCalledTimes(4)
  })

  it('suggests nothing when the server fails, and reports it [COMP-008]', async () => {
    const onError = vi.fn()
    const failure = new Error('down')
    const complete = completing(() => Promise.reject(failure))
    const completer = createCompleter({ complete }, { debounceMs: 0, onError })
    const found = completer(typed('a'))
    await vi.advanceTimersByTimeAsync(1)
    expect(await found).toEqual({ values: [] })
    expect(onError).toHaveBeenCalledWith(failure)
    // A failure is not cached.
    void completer(typed('a'))
    await vi.advanceTimersByTimeAsync(1)
    expect(complete).toHaveBeenCalledTimes(2)
  })

  it('handles partial and malformed suggestions [COMP-008]', async () => {
    const values = [1, null, { toString: 'x' }, ...Array.from({ length: 150 }, (_, index) => `v${index}`)]
    const completer = createCompleter({ complete: completing(() => ({ values, hasMore: true, total: 'many' })) })
    const found = completer(typed('a'))
    await vi.advanceTimersByTimeAsync(150)
    expect(await found).toEqual({ values: Array.from({ length: 100 }, (_, index) => `v${index}`), hasMore: true })
  })

  it('caches a bounded number of responses', async () => {
    const complete = completing()
    const completer = createCompleter({ complete }, { debounceMs: 0, cacheMs: 3_600_000 })
    const ask = async (value: string) => {
      void completer(typed(value))
      await vi.advanceTimersByTimeAsync(1)
      return complete.mock.calls.length
    }
    for (let index = 0; index < 300; index++) await ask(`${index}`)
    expect([await ask('299'), await ask('0')]).toEqual([300, 301])
  })
})

describe('a completer with a client', () => {
  everyWire('completes prompt arguments [COMP-008]', async (wire) => {
    const server = new McpServer({ name: 's', version: '1' })
    const city = completable(z.string(), (value) => ['paris', 'porto', 'rome'].filter((name) => name.startsWith(value)))
    server.registerPrompt('greet', { argsSchema: { city } }, () => 'hello')
    await using pair = await wire.connect(server)
    const completer = createCompleter(pair.client, { debounceMs: 0 })
    expect((await completer(typed('p')))?.values).toEqual(['paris', 'porto'])
  })

  it('suggests nothing for a server without completions [COMP-008]', async () => {
    const { connect } = await import('tenon/client')
    await using client = await connect(new McpServer({ name: 's', version: '1' }))
    const errors: unknown[] = []
    const completer = createCompleter(client, { debounceMs: 0, onError: (error) => errors.push(error) })
    expect(await completer(typed('p'))).toEqual({ values: [] })
    expect(errors).toMatchObject([{ code: 'capability-missing' }])
  })
})
