import { onTestFinished, vi } from 'vitest'

/** Lets a test move `Date` forward, while timers, sockets and child processes keep real time. */
export function movableDate(): { advance(ms: number): void } {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  return { advance: (ms) => void vi.setSystemTime(Date.now() + ms) }
}

export interface MovableTimers extends Disposable {
  advance(ms: number): Promise<void>
  /** Advances in steps of ten seconds until a promise settles. */
  advanceUntil<T>(promise: Promise<T>): Promise<T>
}

/** Lets a test advance timers and clocks; otherwise they run in real time. Use limits of half a minute or more. */
export function movableTimers(): MovableTimers {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
    shouldAdvanceTime: true,
  })
  const release = () => void vi.useRealTimers()
  onTestFinished(release)
  const advance = async (ms: number) => void (await vi.advanceTimersByTimeAsync(ms))
  const advanceUntil = async <T>(promise: Promise<T>) => {
    let isSettled = false
    const settle = () => {
      isSettled = true
    }
    promise.then(settle, settle)
    while (!isSettled) await advance(10_000)
    return promise
  }
  return { advance, advanceUntil, [Symbol.dispose]: release }
}
