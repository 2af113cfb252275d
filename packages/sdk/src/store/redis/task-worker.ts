import type { Job, Worker } from 'bullmq'
import { McpError } from '../../errors.ts'
import { clock } from '../../util/clock.ts'
import { runDetached } from '../../util/run-detached.ts'
import { unref } from '../../util/unref.ts'
import type { RunTask, TaskWorker, WorkOptions } from '../ports.ts'
import type { Client } from './connections.ts'
import type { Keys } from './keys.ts'
import { runScript } from './scripts.ts'
import { type BullMq, pauseMs, queueName, type TaskJob, type TaskQueue } from './task-queue.ts'
import { finishTask, graceMs, sweepTasks, takeTask } from './task-scripts.ts'

export interface TaskWorkerSetup {
  readonly bull: BullMq
  readonly client: Client
  readonly queue: TaskQueue
  /** The worker's own. */
  readonly connection: Client
  readonly keys: Keys
  readonly run: RunTask
  readonly options: WorkOptions
  /** Called once, when the worker does not need its connection any more. */
  ended(): Promise<void>
}

/** How long stopping waits for a Redis that is away. */
const patienceMs = 2000

/** Tasks that one look at those that are due takes in. */
const sweepCount = 200

/**
 * Runs tasks for whom BullMQ has jobs. The lock of a job is the lease of its task. It is renewed here and not by BullMQ,
 * which keeps locks by job: when a job came back to the process that had lost it, the end of the first run would leave the
 * second without renewal.
 */
export class RedisTaskWorker implements TaskWorker {
  readonly #setup: TaskWorkerSetup
  readonly #worker: Worker<TaskJob, Taken>
  readonly #runs = new Set<Run>()
  readonly #owners: OwnerSlots
  readonly #finishing = new Set<Promise<void>>()
  readonly #timers: NodeJS.Timeout[]
  #isBeating = false
  #isSweeping = false
  #isOver = false
  #stopped: Promise<void> | undefined

  constructor(setup: TaskWorkerSetup) {
    this.#setup = setup
    const { leaseMs, concurrency, maxPerOwner = concurrency } = setup.options
    this.#owners = new OwnerSlots(maxPerOwner)
    this.#worker = this.#start()
    this.#timers = [setInterval(() => this.#beat(), leaseMs / 3), setInterval(() => this.#sweep(), graceMs)]
    for (const timer of this.#timers) unref(timer)
    this.#sweep()
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  /** Lets go of everything at once, as if the process had died. */
  async abandon(): Promise<void> {
    const closed = this.#worker.close(true)
    for (const run of this.#runs) this.#lose(run)
    await within(patienceMs, closed)
    await this.#end()
  }

  #start(): Worker<TaskJob, Taken> {
    const { bull, connection, keys, options } = this.#setup
    const { concurrency, leaseMs } = options
    const worker = new bull.Worker<TaskJob, Taken>(queueName, (job, token) => this.#process(job, token), {
      connection,
      prefix: keys.root,
      concurrency,
      lockDuration: Math.ceil(leaseMs),
      skipLockRenewal: true,
      // A job is taken back at the first look after its lock is gone; so within one and two thirds of a lease.
      stalledInterval: Math.ceil(leaseMs / 3),
      // What to do about a task that kills its process is not for the queue to say.
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
      settings: { backoffStrategy: pauseMs },
    })
    worker.on('error', (error) => this.#report(error))
    worker.on('completed', ({ data }, taken) => this.#finish(data.id, taken))
    return worker
  }

  /** Gives the count of readiness that the run dealt with. */
  async #process(job: Job<TaskJob>, token = ''): Promise<Taken> {
    const { client, keys, run } = this.#setup
    const { id } = job.data
    const running: Run = { jobId: job.id ?? '', token, controller: new AbortController(), heardAt: performance.now() }
    this.#runs.add(running)
    try {
      const found = (await runScript(client, takeTask, keys.task(id), keys.due, id)) as [string, string] | null
      if (!found) return null
      const [taken, owner] = found
      await this.#owners.within(owner, running.controller.signal, () => run(id, running.controller.signal))
      return taken
    } catch (error) {
      if (error === noRoom) return await this.#postpone(job, token)
      this.#report(error)
      // BullMQ keeps the message, which may tell more than Redis should know.
      throw new Error('The run of the task failed')
    } finally {
      this.#runs.delete(running)
    }
  }

  /** Its owner has as many running here as it may: the job makes way for others, and comes back soon. */
  async #postpone(job: Job<TaskJob>, token: string): Promise<never> {
    await job.moveToDelayed(clock.now() + postponeMs * (1 + Math.random()), token)
    throw new this.#setup.bull.DelayedError()
  }

  /**
   * Only when the job is gone: if the task becomes ready in between, its new job can be added. If the process dies in
   * between, the task is still ready and is found by a sweep.
   */
  #finish(id: string, taken: Taken): void {
    if (taken === null) return
    const { client, keys, queue } = this.#setup
    const finishing = runDetached(
      async () => {
        const isReady = await runScript(client, finishTask, keys.task(id), keys.due, id, taken)
        if (isReady === 1) queue.add(id, 1)
      },
      (error) => this.#report(error),
    ).finally(() => this.#finishing.delete(finishing))
    this.#finishing.add(finishing)
  }

  #beat(): void {
    const now = performance.now()
    const { leaseMs } = this.#setup.options
    // Others may have taken it by now, also if Redis cannot be asked.
    for (const run of this.#runs) if (now - run.heardAt >= leaseMs) this.#lose(run)
    if (this.#isBeating || this.#runs.size === 0) return
    this.#isBeating = true
    void runDetached(
      () => this.#renew([...this.#runs], now),
      (error) => this.#report(error),
    ).finally(() => {
      this.#isBeating = false
    })
  }

  async #renew(runs: Run[], now: number): Promise<void> {
    const { leaseMs } = this.#setup.options
    const ids = runs.map(({ jobId }) => jobId)
    const tokens = runs.map(({ token }) => token)
    const lost = new Set(await this.#worker.extendJobLocks(ids, tokens, Math.ceil(leaseMs)))
    for (const run of runs) {
      if (lost.has(run.jobId)) this.#lose(run)
      else run.heardAt = now
    }
  }

  #lose(run: Run): void {
    // Not one that ended while its lock was renewed.
    if (!this.#runs.delete(run)) return
    run.controller.abort(new McpError('cancelled', 'The task was given to another worker'))
  }

  /** Adds jobs that whoever made a task ready did not come to add, and takes out what expired. */
  #sweep(): void {
    if (this.#isSweeping) return
    this.#isSweeping = true
    void runDetached(
      () => this.#sweepAll(),
      (error) => this.#report(error),
    ).finally(() => {
      this.#isSweeping = false
    })
  }

  async #sweepAll(): Promise<void> {
    const { client, keys, queue, options } = this.#setup
    const laterMs = Math.max(graceMs, options.leaseMs)
    for (let seen = sweepCount; seen === sweepCount && !this.#isOver; ) {
      const args = [keys.due, keys.root, queue.jobs, laterMs, sweepCount]
      const [count, ...found] = (await runScript(client, sweepTasks, ...args)) as [number, ...(string | number)[]]
      for (let index = 0; index < found.length; index += 2) queue.add(String(found[index]), Number(found[index + 1]))
      seen = count
    }
  }

  async #stop(): Promise<void> {
    const closed = this.#worker.close()
    let isClosed = false
    const closing = runDetached(
      () => closed,
      (error) => this.#report(error),
    ).then(() => {
      isClosed = true
    })
    // BullMQ waits for a connection to say goodbye to, if need be forever.
    for (let idle = 0; !isClosed && idle < 2; idle = this.#runs.size > 0 ? 0 : idle + 1) {
      await within(patienceMs / 2, closing)
    }
    await this.#end()
  }

  async #end(): Promise<void> {
    this.#isOver = true
    for (const timer of this.#timers) clearInterval(timer)
    await within(patienceMs, Promise.all(this.#finishing))
    await this.#setup.ended()
  }

  #report(error: unknown): void {
    if (!this.#isOver) this.#setup.options.onError(error)
  }
}

/** How long a job waits for a place of its owner before it makes way, and how long at least it is away. */
const placeMs = 50
const postponeMs = 250

const noRoom = new Error('The owner has no place left')

/** Places for tasks that run, so many for each owner. */
class OwnerSlots {
  readonly #max: number
  readonly #taken = new Map<string, number>()
  readonly #waiting = new Map<string, Set<() => void>>()

  constructor(max: number) {
    this.#max = max
  }

  /** Does the work in a place of the owner. Throws `noRoom` when none becomes free soon. */
  async within(owner: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    if (!this.#take(owner) && !(await this.#wait(owner, signal))) throw noRoom
    try {
      await work()
    } finally {
      this.#release(owner)
    }
  }

  #take(owner: string): boolean {
    const taken = this.#taken.get(owner) ?? 0
    if (taken >= this.#max) return false
    this.#taken.set(owner, taken + 1)
    return true
  }

  /** True when a place was handed over. */
  #wait(owner: string, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(owner) ?? new Set()
      this.#waiting.set(owner, waiting)
      const settle = (isPlace: boolean) => {
        clearTimeout(timer)
        signal.removeEventListener('abort', giveUp)
        waiting.delete(take)
        if (waiting.size === 0 && this.#waiting.get(owner) === waiting) this.#waiting.delete(owner)
        resolve(isPlace)
      }
      const take = () => settle(true)
      const giveUp = () => settle(false)
      const timer = setTimeout(giveUp, placeMs)
      signal.addEventListener('abort', giveUp)
      waiting.add(take)
    })
  }

  #release(owner: string): void {
    const [next] = this.#waiting.get(owner) ?? []
    if (next) return next()
    const taken = this.#taken.get(owner)! - 1
    if (taken > 0) this.#taken.set(owner, taken)
    else this.#taken.delete(owner)
  }
}

/** How often the task had become ready when it was taken; null when it was not taken. */
type Taken = string | null

interface Run {
  readonly jobId: string
  readonly token: string
  readonly controller: AbortController
  /** When its lock was last known to hold. */
  heardAt: number
}

/** When the promise is settled, or when the time is over. */
async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([promise, over])
  clearTimeout(timer)
}
