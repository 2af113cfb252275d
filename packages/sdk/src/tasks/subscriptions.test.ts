import { expect, it, vi } from 'vitest'
import type { Exchange } from '../jsonrpc/exchange.ts'
import type { Caller } from '../protocol/caller.ts'
import { tasksExtension } from '../protocol/tasks.ts'
import { MemoryTaskStore } from '../store/memory/tasks.ts'
import { resolveOptions } from './options.ts'
import { TaskRepository, taskNotFound } from './repository.ts'
import { TaskSubscriptions, TaskWatchers } from './subscriptions.ts'
import type { Task } from './task.ts'

const caller = { capabilities: { extensions: { [tasksExtension]: {} } } } as unknown as Caller
const by = (principal: string) => ({ stream: undefined, link: { transport: { principal } } }) as unknown as Exchange
const ids = (count: number) => Array.from({ length: count }, (_, index) => `task ${index}`)

it('lets one owner follow 20,000 tasks over all streams, and more when a stream ends', async () => {
  const store = new MemoryTaskStore()
  const subscriptions = new TaskSubscriptions({
    repository: new TaskRepository(resolveOptions({ store })),
    watchers: new TaskWatchers(store),
    find: async (id) => {
      if (id === 'none') throw taskNotFound()
      return { id } as Task
    },
    reportError: () => {},
  })
  const accept = (wanted: readonly string[], who: string) => subscriptions.accept(wanted, by(who), caller)
  const follow = (wanted: readonly string[], who: string) => subscriptions.follow(wanted, by(who), caller, () => {})
  expect(await accept([...ids(20_001), 'none'], 'ann')).toEqual(ids(20_000))
  const stops = [follow(ids(10_000), 'ann'), follow(ids(9_999), 'ann')]
  expect(await accept(['one', 'one', 'two'], 'ann')).toEqual(['one'])
  stops.push(follow(['one'], 'ann'))
  expect(await accept(['two'], 'ann')).toEqual([])
  expect(await accept(['two', 'none'], 'bob')).toEqual(['two'])
  stops[1]!()
  expect(await accept(ids(20_000), 'ann')).toHaveLength(9_999)
  for (const stop of [stops[0]!, stops[2]!]) stop()
  expect(await accept(ids(20_001), 'ann')).toHaveLength(20_000)
})

it('does not read a task any more when no stream follows it', async () => {
  const store = new MemoryTaskStore()
  const watchers = new TaskWatchers(store)
  const repository = new TaskRepository(resolveOptions({ store }))
  const find = async (id: string) => ({ id }) as Task
  const subscriptions = new TaskSubscriptions({ repository, watchers, find, reportError: () => {} })
  const reads = vi.spyOn(store, 'get')
  const stops = ['ann', 'bob'].map((who) => subscriptions.follow(['one', 'two'], by(who), caller, () => {}))
  stops[0]!()
  reads.mockClear()
  watchers.wake('one')
  expect(reads).toHaveBeenCalledTimes(1)
  stops[1]!()
  watchers.wake('one')
  watchers.wake('two')
  expect(reads).toHaveBeenCalledTimes(1)
})
