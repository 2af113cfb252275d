/**
 * The library's only source of time. Read it at every use and never capture a method: tests move the time with fake
 * timers, and a simulation replaces the methods.
 */
export const clock = {
  /** Wall-clock time in milliseconds since 1970. It jumps when the system clock is set. */
  now: (): number => Date.now(),
  /** Milliseconds since an arbitrary start. Never goes back, so use it to measure durations. */
  monotonic: (): number => performance.now(),
}
