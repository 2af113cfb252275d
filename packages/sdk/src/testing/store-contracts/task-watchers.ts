import { deferred } from '../../util/deferred.ts'
import { type Suite, TaskEar } from './task-store-suite.ts'

export function watching({ it, expect, entry }: Suite): void {
  it('notifies watchers of every change, in the same process and in others', async (near, far) => {
    const ears = [new TaskEar(), new TaskEar()]
    await near.watch(ears[0]!.listener)
    await far.watch(ears[1]!.listener)
    await near.create(entry('one'))
    for (const ear of ears) await ear.hearing('one')
    await far.replace(entry('one', { version: 2 }))
    for (const ear of ears) await ear.hearing('one')
    await far.create(entry('__proto__'))
    for (const ear of ears) await ear.hearing('__proto__')
  })

  it('does not notify watchers of a change that was not made', async (near, far) => {
    const ear = new TaskEar()
    await far.watch(ear.listener)
    await near.create(entry('one'))
    await ear.hearing('one')
    await near.replace(entry('one', { version: 7 }))
    await near.replace(entry('nothing', { version: 2 }))
    await near.create(entry('two'))
    await ear.hearing('two')
    expect(ear.heard.map(({ id }) => id)).toEqual(['one', 'two'])
  })

  it('makes a change readable before it notifies watchers of it', async (near, far) => {
    const versions: Array<Promise<number | undefined>> = []
    const done = deferred<void>()
    await far.watch((id) => {
      const version = far.get(id).then((found) => found?.version)
      versions.push(version)
      void version.then((seen) => seen === 20 && done.resolve())
    })
    await near.create(entry('one'))
    for (let version = 2; version <= 20; version++) await near.replace(entry('one', { version }))
    await done.promise
    const seen = await Promise.all(versions)
    expect(seen).toEqual(seen.toSorted((one, other) => one! - other!))
  })

  it('delivers published messages to watchers in order and unchanged', async (near, far) => {
    const ears = [new TaskEar(), new TaskEar()]
    await near.watch(ears[0]!.listener)
    await far.watch(ears[1]!.listener)
    const texts = ['', 'ü\r\n "', '{"a":1}', ...Array.from({ length: 200 }, (_, index) => `${index}`)]
    for (const text of texts) await near.publish('one', text)
    await near.publish('last', 'end')
    for (const ear of ears) {
      await ear.hearing('last')
      expect(ear.heard.filter(({ id }) => id === 'one').map(({ said }) => said)).toEqual(texts)
    }
  })

  it('notifies each watcher until it stops', async (near, far) => {
    const [leaving, staying] = [new TaskEar(), new TaskEar()]
    const stop = await far.watch(leaving.listener)
    await far.watch(staying.listener)
    await near.publish('one', '1')
    for (const ear of [leaving, staying]) await ear.hearing('one')
    stop()
    stop()
    await near.publish('one', '2')
    await staying.hearing('one')
    expect(leaving.heard.map(({ said }) => said)).toEqual(['1'])
    expect(staying.heard.map(({ said }) => said)).toEqual(['1', '2'])
  })

  it('does not store published messages', async (near, far) => {
    const one = entry('one')
    await near.create(one)
    await near.publish('one', 'early')
    const ear = new TaskEar()
    await far.watch(ear.listener)
    await near.publish('one', 'late')
    await ear.hearing('one')
    expect(ear.heard).toEqual([{ id: 'one', said: 'late' }])
    expect(await far.get('one')).toEqual(one)
    expect(await far.notes('one')).toEqual([])
  })
}
