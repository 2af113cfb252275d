import { expect, it } from 'vitest'
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
