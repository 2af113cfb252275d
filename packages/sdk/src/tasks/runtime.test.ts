import { expect, it, onTestFinished, vi } from 'vitest'
import { McpServer } from '../server/mcp-server.ts'
import { MemoryTaskStore } from '../store/memory/tasks.ts'
import { tasks } from './runtime.ts'

it('does not begin to run tasks for a server that was closed while it started', async () => {
  const store = new MemoryTaskStore()
  const watch = store.watch.bind(store)
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  // A store over the network takes a while to open.
  store.watch = async (listener) => {
    await opened
    return watch(listener)
  }
  let workers = 0
  store.work = async () => {
    workers++
    throw new Error('The store is closed')
  }
  const errors: unknown[] = []
  const server = new McpServer(
    { name: 'lab', version: '1.0.0' },
    { tasks: tasks({ store }), onError: (error) => void errors.push(error) },
  )
  const release = server.server.hold()
  const released = release()
  open()
  await released
  await server.close()
  await new Promise((resolve) => setImmediate(resolve))
  expect({ workers, errors }).toEqual({ workers: 0, errors: [] })
})

it('tries again while the store is unavailable, but not after the server was closed', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const store = new MemoryTaskStore()
  let tries = 0
  store.watch = async () => {
    tries++
    throw new Error('The store is unavailable')
  }
  const errors: unknown[] = []
  const server = new McpServer(
    { name: 'lab', version: '1.0.0' },
    { tasks: tasks({ store }), onError: (error) => void errors.push(error) },
  )
  const release = server.server.hold()
  await vi.advanceTimersByTimeAsync(0)
  expect(tries).toBe(1)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(tries).toBeGreaterThan(1)
  expect(errors).toHaveLength(tries)
  const before = tries
  await release()
  await server.close()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(tries).toBe(before)
})
