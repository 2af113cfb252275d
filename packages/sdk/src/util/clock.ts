/**
 * The wall-clock time in milliseconds since 1970: the library's only source of it. Tests replace it by moving `Date` (vitest's
 * fake timers), so it is read at every call and never captured.
 */
export const now = (): number => Date.now()
