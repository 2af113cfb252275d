/**
 * The library's only source of wall-clock time, in milliseconds since 1970. Read it at every use and never capture it: tests
 * move it with fake timers, and a simulation can replace `now`.
 */
export const clock = { now: (): number => Date.now() }
