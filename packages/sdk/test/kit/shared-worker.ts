import { afterAll, expect, vi } from 'vitest'

// Files that share a worker must leave it as they found it. Those that cannot are listed in vitest.config.ts.
const before = processState()
afterAll(() => {
  const after = processState()
  const names = new Set([...before.keys(), ...after.keys()])
  // Names only: the environment of a developer may contain secrets.
  expect(
    [...names].filter((name) => before.get(name) !== after.get(name)),
    'changed by this file',
  ).toEqual([])
})

function processState(): Map<string, unknown> {
  const events = ['uncaughtException', 'unhandledRejection', 'warning', 'rejectionHandled']
  return new Map<string, unknown>([
    ...Object.entries(process.env).map(([name, value]) => [`process.env.${name}`, value] as const),
    ...events.map((event) => [`listeners of "${event}"`, process.listenerCount(event)] as const),
    ['the current folder', process.cwd()],
    ['fake timers', vi.isFakeTimers()],
    ['fetch', globalThis.fetch],
  ])
}
