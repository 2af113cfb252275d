import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { joinSignals } from './abort.ts'

describe('a joined signal', () => {
  it('aborts with the first of its signals, and with its reason', () => {
    const [one, two] = [new AbortController(), new AbortController()]
    const { signal } = joinSignals([one.signal, two.signal])
    expect(signal.aborted).toBe(false)
    two.abort('second')
    one.abort('first')
    expect([signal.aborted, signal.reason]).toEqual([true, 'second'])
  })

  it('is aborted at once if one of its signals is', () => {
    const { signal } = joinSignals([new AbortController().signal, AbortSignal.abort('before')])
    expect([signal.aborted, signal.reason]).toEqual([true, 'before'])
  })

  it('does not abort after its release, while others of the same signal do', () => {
    const source = new AbortController()
    const [released, kept] = [joinSignals([source.signal]), joinSignals([source.signal])]
    released.release()
    source.abort()
    expect([released.signal.aborted, kept.signal.aborted]).toEqual([false, true])
  })

  it('leaves one listener on a signal, however many follow it', () => {
    const source = new AbortController()
    for (let count = 0; count < 100; count++) joinSignals([source.signal]).release()
    for (let count = 0; count < 100; count++) joinSignals([source.signal])
    expect(getEventListeners(source.signal, 'abort')).toHaveLength(1)
  })
})
