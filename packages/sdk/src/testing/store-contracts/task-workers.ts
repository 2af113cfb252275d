import { deferred } from '../../util/deferred.ts'
import { scheduler } from '../../util/scheduler.ts'
import { options, Runs, ready, type Suite } from './task-store-suite.ts'

export function working({ it, expect, entry }: Suite): void {
  it('runs each ready task once, and no others', async (near, far) => {
    await near.create(entry('before'), ready)
    await near.create(entry('waiting'))
    await near.create(entry('not'), { isReady: false, notes: ['1'] })
    const runs = new Runs()
    const worker = await near.work(runs.run, options())
    await runs.over('before')
    await near.create(entry('near'), ready)
    await runs.over('near')
    await far.create(entry('far'), ready)
    await runs.over('far')
    await far.replace(entry('waiting', { version: 2 }), ready)
    await runs.over('waiting')
    await far.replace(entry('before', { version: 2 }))
    await far.create(entry('last'), ready)
    await runs.over('last')
    expect(runs.order).toEqual(['before', 'near', 'far', 'waiting', 'last'])
    await worker.stop()
  })

  it('runs a finished task that is made ready', async (near, far) => {
    const runs = new Runs()
    const worker = await near.work(runs.run, options())
    await far.create(entry('one', { isOpen: false }), ready)
    await runs.over('one')
    await worker.stop()
  })

  it('makes earlier changes visible to a run', async (near, far) => {
    const seen: unknown[] = []
    const runs = new Runs(async (id) => {
      seen.push((await near.get(id))?.version, await near.notes(id))
    })
    const worker = await near.work(runs.run, options())
    await far.create(entry('one'), { notes: ['1'] })
    await far.replace(entry('one', { version: 2 }), { notes: ['2'], isReady: true })
    await runs.over('one')
    expect(seen).toEqual([2, ['1', '2']])
    await worker.stop()
  })

  it('runs as many tasks at a time as concurrency allows, and no more', async (near, far) => {
    const gate = deferred<void>()
    const full = deferred<void>()
    const runs = new Runs(() => {
      if (runs.running === 3) full.resolve()
      return gate.promise
    })
    const worker = await near.work(runs.run, options({ concurrency: 3 }))
    const ids = Array.from({ length: 20 }, (_, index) => `t${index}`)
    await Promise.all(ids.map((id) => far.create(entry(id), ready)))
    await full.promise
    gate.resolve()
    await Promise.all(ids.map((id) => runs.over(id)))
    expect(runs.most).toBe(3)
    await worker.stop()
  })

  it('starts roughly with the oldest task', async (near, far) => {
    const ids = Array.from({ length: 200 }, (_, index) => `t${index}`)
    for (const id of ids) await near.create(entry(id), ready)
    const runs = new Runs()
    const worker = await far.work(runs.run, options({ concurrency: 1 }))
    await Promise.all(ids.map((id) => runs.over(id)))
    const half = new Set(ids.slice(0, 100))
    const early = runs.order.slice(0, 100).filter((id) => half.has(id)).length
    expect(early > 80).toBe(true)
    await worker.stop()
  })

  it('gives each of many tasks to one of two workers exactly once', async (near, far) => {
    const runs = new Runs(() => new Promise((resolve) => scheduler.setTimeout(resolve, 0)))
    const workers = [await near.work(runs.run, options()), await far.work(runs.run, options())]
    const ids = Array.from({ length: 300 }, (_, index) => `t${index}`)
    await Promise.all(ids.map((id, index) => (index % 2 ? near : far).create(entry(id), ready)))
    await Promise.all(ids.map((id) => runs.over(id)))
    for (const worker of workers) await worker.stop()
    expect(runs.order.toSorted()).toEqual(ids.toSorted())
  })

  it('keeps a task that takes longer than its lease on the worker that runs it', async (near, far) => {
    const runs = new Runs((id, signal) => {
      signals.push(signal)
      // Much longer than a busy machine may stall, so that the lease can be renewed in time.
      return new Promise((resolve) => scheduler.setTimeout(resolve, id === 'long' ? 5_000 : 0))
    })
    const signals: AbortSignal[] = []
    const workers = []
    for (const store of [near, far]) workers.push(await store.work(runs.run, options({ leaseMs: 3_000 })))
    await near.create(entry('long'), ready)
    await runs.over('long')
    await near.create(entry('after'), ready)
    await runs.over('after')
    expect(runs.order).toEqual(['long', 'after'])
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false])
    for (const worker of workers) await worker.stop()
  })
}

export function takingTurns({ it, expect, entry }: Suite): void {
  it('alternates between owners, however many tasks one of them has', async (near, far) => {
    const many = Array.from({ length: 30 }, (_, index) => `many ${index}`)
    const few = Array.from({ length: 3 }, (_, index) => `few ${index}`)
    for (const id of many) await near.create(entry(id, { owner: 'many' }), ready)
    for (const id of few) await far.create(entry(id, { owner: 'few' }), ready)
    const runs = new Runs()
    const worker = await near.work(runs.run, options({ concurrency: 1 }))
    await Promise.all([...many, ...few].map((id) => runs.over(id)))
    expect(few.every((id) => runs.order.indexOf(id) < 12)).toBe(true)
    await worker.stop()
  })

  it('leaves capacity for others beside the long tasks of one owner', async (near, far) => {
    const gate = deferred<void>()
    let most = 0
    let running = 0
    const runs = new Runs(async (id) => {
      if (id.startsWith('short')) return
      most = Math.max(most, ++running)
      await gate.promise
      running--
    })
    const worker = await near.work(runs.run, options({ concurrency: 3, maxPerOwner: 2 }))
    const long = Array.from({ length: 8 }, (_, index) => `long ${index}`)
    await Promise.all(long.map((id, index) => (index % 2 ? near : far).create(entry(id, { owner: 'greedy' }), ready)))
    for (let index = 0; index < 3; index++) {
      await far.create(entry(`short ${index}`, { owner: `modest ${index}` }), ready)
      await runs.over(`short ${index}`)
    }
    gate.resolve()
    await Promise.all(long.map((id) => runs.over(id)))
    expect(most).toBe(2)
    await worker.stop()
  })
}

export function workingAgain({ it, expect, entry }: Suite): void {
  it('reruns a task that was made ready while it ran, after that run ended', async (near, far) => {
    const begun = deferred<void>()
    const gate = deferred<void>()
    const runs = new Runs(() => {
      begun.resolve()
      return gate.promise
    })
    const workers = [await near.work(runs.run, options()), await far.work(runs.run, options())]
    await near.create(entry('one'), ready)
    await begun.promise
    for (let version = 2; version < 10; version++) {
      await (version % 2 ? near : far).replace(entry('one', { version }), ready)
    }
    // Another task, made ready later, shows that the first one could have run by now.
    await near.create(entry('other'), ready)
    await runs.begun('other')
    expect(runs.order).toEqual(['one', 'other'])
    gate.resolve()
    await runs.over('one', 2)
    await near.create(entry('last'), ready)
    await runs.over('last')
    for (const worker of workers) await worker.stop()
    expect(runs.order).toEqual(['one', 'other', 'one', 'last'])
    expect(runs.overlaps).toEqual([])
  })

  it('never runs a task twice at the same time, however often it is made ready', async (near, far) => {
    const runs = new Runs(() => new Promise((resolve) => scheduler.setTimeout(resolve, 0)))
    const workers = [await near.work(runs.run, options()), await far.work(runs.run, options())]
    await near.create(entry('one'), ready)
    for (let version = 2; version < 60; version++) {
      await (version % 2 ? near : far).replace(entry('one', { version }), ready)
      if (version % 7 === 0) await new Promise((resolve) => scheduler.setTimeout(resolve, 5))
    }
    const before = runs.count('one')
    await near.replace(entry('one', { version: 60 }), ready)
    await runs.over('one', before + 1)
    for (const worker of workers) await worker.stop()
    expect(runs.overlaps).toEqual([])
  })

  it('reruns a failed task, and runs others meanwhile', async (near, far) => {
    const errors: unknown[] = []
    const failure = new Error('no luck')
    const runs = new Runs(async (id) => {
      if (id === 'unlucky' && (runs.count('other') === 0 || runs.count(id) < 3)) throw failure
    })
    const onError = (error: unknown) => void errors.push(error)
    const worker = await near.work(runs.run, options({ concurrency: 1, onError }))
    await far.create(entry('unlucky'), ready)
    await runs.over('unlucky')
    await far.create(entry('other'), ready)
    await runs.over('other')
    await runs.over('unlucky', 3)
    await worker.stop()
    expect(errors.length > 0 && errors.every((error) => error === failure)).toBe(true)
  })

  it('does not rerun a task that succeeded after a failure', async (near, far) => {
    const runs = new Runs(async (id) => {
      const count = runs.count(id)
      if ((id === 'one' && count < 2) || (id === 'slow' && count < 4)) throw new Error('no luck')
    })
    const worker = await near.work(runs.run, options())
    await near.create(entry('one'), ready)
    await runs.over('one')
    await far.replace(entry('one', { version: 2 }), ready)
    await runs.over('one', 2)
    // When it has run four times, any delay of the first task is over.
    await near.create(entry('slow'), ready)
    await runs.over('slow', 4)
    expect(runs.count('one')).toBe(2)
    await worker.stop()
  })
}

export function stopping({ it, expect, entry }: Suite): void {
  it('stops when its running tasks end, takes no more, and leaves the rest to others', async (near, far) => {
    const gate = deferred<void>()
    const first = new Runs(() => gate.promise)
    const worker = await near.work(first.run, options({ concurrency: 1 }))
    await near.create(entry('one'), ready)
    await first.begun('one')
    await near.create(entry('two'), ready)
    let isStopped = false
    const stopped = worker.stop().then(() => {
      isStopped = true
    })
    const again = worker.stop()
    await far.replace(entry('one', { version: 2 }), ready)
    const second = new Runs()
    const other = await far.work(second.run, options())
    await second.over('two')
    expect(isStopped).toBe(false)
    gate.resolve()
    await Promise.all([stopped, again])
    expect(first.order).toEqual(['one'])
    await second.over('one')
    expect(second.order).toEqual(['two', 'one'])
    await other.stop()
  })

  it('supports several independent workers in one process', async (near) => {
    const [one, other] = [new Runs(), new Runs()]
    const first = await near.work(one.run, options())
    const second = await near.work(other.run, options())
    await first.stop()
    await near.create(entry('one'), ready)
    await other.over('one')
    expect(one.order).toEqual([])
    await second.stop()
  })
}

export function dying({ it, expect, entry, driver }: Suite): void {
  it('gives the tasks of a worker that disappeared to another one', async (near) => {
    const far = await driver.join!(near)
    const lost = new Runs(() => new Promise(() => {}))
    await far.work(lost.run, options({ leaseMs: 300 }))
    await near.create(entry('one'), ready)
    await near.create(entry('two'), ready)
    await lost.begun('one')
    await lost.begun('two')
    const runs = new Runs()
    const worker = await near.work(runs.run, options({ leaseMs: 300 }))
    await driver.close?.(far)
    await runs.over('one')
    await runs.over('two')
    await near.create(entry('last'), ready)
    await runs.over('last')
    expect(runs.order.toSorted()).toEqual(['last', 'one', 'two'])
    await worker.stop()
  })

  it('still has everything when it is opened again', async (near) => {
    const far = await driver.join!(near)
    const [one, two] = [entry('one'), entry('two')]
    await far.create(one, { notes: ['1'] })
    await far.create(two, { notes: ['2'], isReady: true })
    await driver.close?.(far)
    const again = await driver.join!(near)
    expect(await again.get('one')).toEqual(one)
    expect(await again.notes('one')).toEqual(['1'])
    const listed = [one, two].map(({ body: _body, ...summary }) => summary)
    expect(await again.list('somebody', { limit: 10 })).toEqual(listed)
    expect([await again.countOpen('somebody'), await again.countOpen()]).toEqual([2, 2])
    const runs = new Runs()
    const worker = await again.work(runs.run, options())
    await runs.over('two')
    await worker.stop()
    await driver.close?.(again)
  })
}
