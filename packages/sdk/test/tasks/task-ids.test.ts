import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect, type KnownTask, type McpError, PeerError } from 'tenon/client'
import { sqliteStore } from 'tenon/stores/sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { errorOf } from '../kit/error-of.ts'
import { eventually } from '../kit/eventually.ts'
import { everyWire } from '../kit/every-wire.ts'
import { gate } from '../kit/gate.ts'
import { serve } from '../kit/serve-http.ts'

import { labServer, legacy, modern } from './client-support.ts'

const folder = mkdtempSync(join(tmpdir(), 'tenon-task-ids-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const always = { execution: { taskSupport: 'optional' as const }, taskPolicy: 'always' as const }

class MemoryIds {
  readonly kept = new Map<string, KnownTask>()

  add(task: KnownTask): void {
    this.kept.set(task.taskId, task)
  }

  delete(taskId: string): void {
    this.kept.delete(taskId)
  }

  list(): KnownTask[] {
    return [...this.kept.values()]
  }
}

describe('the ids of open tasks', () => {
  everyWire(
    'are stored until the task ends or is cancelled, and can be resumed [XTASK-013]',
    async (wire) => {
      const ids = new MemoryIds()
      const { lab } = labServer()
      const held = gate()
      lab.registerTool('hold', always, async () => {
        await held.opened
        return 'held'
      })
      await using pair = await wire.connect(lab, { tasks: true, taskIds: ids })
      const waiting = await pair.client.callToolAsTask('hold')
      const cancelled = await pair.client.callToolAsTask('wait')
      expect(ids.list()).toMatchObject([
        { taskId: waiting.id, tool: 'hold' },
        { taskId: cancelled.id, tool: 'wait' },
      ])
      await cancelled.cancel()
      expect((await errorOf<McpError>(cancelled.result())).code).toBe('cancelled')
      await eventually(() => ids.kept.size === 1)
      const [again, ...others] = await pair.client.resumeTasks()
      expect([again?.id, others]).toEqual([waiting.id, []])
      const result = again!.result()
      held.open()
      expect((await result).text).toBe('held')
      await eventually(() => ids.kept.size === 0)
    },
    { revisions: [legacy, modern], schemas: undefined },
  )

  everyWire(
    'are deleted when the server no longer knows the task [XTASK-013]',
    async (wire) => {
      const ids = new MemoryIds()
      ids.add({ taskId: 'expired', tool: 'wait', createdAt: 1 })
      await using pair = await wire.connect(labServer().lab, { tasks: true, taskIds: ids })
      const [task] = await pair.client.resumeTasks()
      expect(await errorOf(task!.result())).toBeInstanceOf(PeerError)
      await eventually(() => ids.kept.size === 0)
    },
    { revisions: [legacy, modern], schemas: undefined },
  )

  it('stored in a file by a killed process let another process resume the task [XTASK-013]', async () => {
    const { lab, release } = labServer()
    lab.registerTool('quick', always, () => 'quick')
    await using serving = await serve(lab)
    const file = join(folder, 'client.db')
    const program = fileURLToPath(new URL('./fixtures/client-child.js', import.meta.url))
    const child = fork(program, [serving.url, file])
    const [{ id }] = (await once(child, 'message')) as [{ id: string }]
    child.kill('SIGKILL')
    await once(child, 'exit')
    const store = sqliteStore(file)
    await using client = await connect(serving.url, { tasks: true, taskIds: store.taskIds(serving.url) })
    expect(await store.taskIds('another server').list()).toEqual([])
    const [task, ...others] = await client.resumeTasks()
    expect([task?.id, others]).toEqual([id, []])
    release()
    expect((await task!.result()).text).toBe('waited')
    await eventually(async () => (await store.taskIds(serving.url).list()).length === 0)
    await store.close()
  })

  everyWire(
    'are deleted before resumeTasks() returns after the result',
    async (wire) => {
      class SlowIds extends MemoryIds {
        override async delete(taskId: string): Promise<void> {
          await new Promise((resolve) => setImmediate(resolve))
          super.delete(taskId)
        }
      }
      const { lab } = labServer()
      lab.registerTool('quick', always, () => 'done')
      await using pair = await wire.connect(lab, { tasks: true, taskIds: new SlowIds() })
      const task = await pair.client.callToolAsTask('quick')
      expect((await task.result()).text).toBe('done')
      expect(await pair.client.resumeTasks()).toEqual([])
    },
    { revisions: [legacy, modern], schemas: undefined },
  )

  it('cannot be resumed without a store, and the error names the option', async () => {
    const { lab } = labServer()
    await using serving = await serve(lab)
    await using client = await connect(serving.url, { tasks: true })
    await expect(client.resumeTasks()).rejects.toThrow('pass `taskIds` to connect()')
  })
})
