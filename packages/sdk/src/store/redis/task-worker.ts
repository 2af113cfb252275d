import type { Job, Worker } from 'bullmq'
import { McpError } from '../../errors.ts'
import { clock } from '../../util/clock.ts'
import { runDetached } from '../../util/maybe-async.ts'
import { random } from '../../util/random.ts'
import { scheduler, type Timer } from '../../util/scheduler.ts'
import type { RunTask, TaskStoreWorker, WorkOptions } from '../ports.ts'
import type { Client } from './connections.ts'
import type { Keys } from './keys.ts'
import { noSlot, OwnerSlots } from './owner-slots.ts'
import { runScript } from './scripts.ts'
import { type BullMq, queueName, retryDelayMs, type TaskJob, type TaskQueue } from './task-queue.ts'
import { finishTask, graceMs, sweepTasks, takeTask } from './task-scripts.ts'

/** What a worker needs. */
export interface TaskWorkerSetup {
  readonly bull: BullMq
  readonly client: Client
  readonly queue: TaskQueue
  /** Used by this worker only. */
  readonly connection: Client
  readonly keys: Keys
  readonly run: RunTask
  readonly options: WorkOptions
  /** Called once, when the worker no longer needs its connection. */
  onEnd(): Promise<void>
}

/** How long `stop` waits for an unavailable Redis. */
const stopTimeoutMs = 2000

/** The shortest delay of a job whose owner reached its limit. */
const postponeMs = 250

/** Tasks to check per sweep step. */
const sweepCount = 200

/**
 * Runs the tasks of BullMQ jobs. The lock of a job is the lease of its task. It is renewed here and not by BullMQ,
 * which tracks locks by job: if a job came back to the process that had lost it, the end of the first run would stop
 * the renewal of the second.
 */
export class RedisTaskWorker implements TaskStoreWorker {
  readonly #setup: TaskWorkerSetup
  readonly #worker: Worker<TaskJob, Taken>
  readonly #runs = new Set<Run>()
  readonly #owners: OwnerSlots
  readonly #finishing = new Set<Promise<void>>()
  readonly #timers: Timer[]
  #isRenewing = false
  #isSweeping = false
  #isEnded = false
  #stopped: Promise<void> | undefined

  constructor(setup: TaskWorkerSetup) {
    this.#setup = setup
    const { leaseMs, concurrency, maxPerOwner = concurrency } = setup.options
    this.#owners = new OwnerSlots(maxPerOwner)
    this.#worker = this.#start()
    this.#timers = [
      scheduler.setInterval(() => this.#checkLeases(), leaseMs / 3),
      scheduler.setInterval(() => this.#sweep(), graceMs),
    ]
    for (const timer of this.#timers) scheduler.unref(timer)
    this.#sweep()
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  /** Stops without waiting, as if the process had crashed. */
  async abandon(): Promise<void> {
    const closed = this.#worker.close(true)
    for (const run of this.#runs) this.#abort(run)
    await settledWithin(stopTimeoutMs, closed)
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
      // A job is recovered at the first check after its lock expired, so within one and two thirds of a lease.
      stalledInterval: Math.ceil(leaseMs / 3),
      // The queue does not decide what to do about a task that crashes its process.
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
      settings: { backoffStrategy: retryDelayMs },
    })
    worker.on('error', (error) => this.#report(error))
    worker.on('completed', ({ data }, taken) => this.#finish(data.id, taken))
    return worker
  }

  /** Returns how often the task had become ready when the run started. */
  async #process(job: Job<TaskJob>, token = ''): Promise<Taken> {
    const { client, keys, run } = this.#setup
    const { id } = job.data
    const running: Run = { jobId: job.id ?? '', token, controller: new AbortController(), renewedAt: clock.monotonic() }
    this.#runs.add(running)
    try {
      const found = (await runScript(client, takeTask, keys.task(id), keys.due, id)) as [string, string] | null
      if (!found) return null
      const [taken, owner] = found
      await this.#owners.within(owner, running.controller.signal, () => run(id, running.controller.signal))
      return taken
    } catch (error) {
      if (error === noSlot) return await this.#postpone(job, token)
      this.#report(error)
      // BullMQ stores the message in Redis, so do not include details.
      throw new Error('Task run failed')
    } finally {
      this.#runs.delete(running)
    }
  }

  /** The owner reached its limit in this process, so delay the job to let others run. */
  async #postpone(job: Job<TaskJob>, token: string): Promise<never> {
    await job.moveToDelayed(clock.now() + postponeMs * (1 + random.fraction()), token)
    throw new this.#setup.bull.DelayedError()
  }

  /**
   * Runs after the job was removed: if the task becomes ready in between, a new job can be added. If the process
   * crashes in between, the task is still ready and a sweep finds it.
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

  #checkLeases(): void {
    const now = clock.monotonic()
    const { leaseMs } = this.#setup.options
    // Another worker may have taken the task by now, even if Redis cannot be asked.
    for (const run of this.#runs) if (now - run.renewedAt >= leaseMs) this.#abort(run)
    if (this.#isRenewing || this.#runs.size === 0) return
    this.#isRenewing = true
    void runDetached(
      () => this.#renew([...this.#runs], now),
      (error) => this.#report(error),
    ).finally(() => {
      this.#isRenewing = false
    })
  }

  async #renew(runs: Run[], now: number): Promise<void> {
    const { leaseMs } = this.#setup.options
    const ids = runs.map(({ jobId }) => jobId)
    const tokens = runs.map(({ token }) => token)
    const lost = new Set(await this.#worker.extendJobLocks(ids, tokens, Math.ceil(leaseMs)))
    for (const run of runs) {
      if (lost.has(run.jobId)) this.#abort(run)
      else run.renewedAt = now
    }
  }

  #abort(run: Run): void {
    // Skip a run that ended while its lock was renewed.
    if (!this.#runs.delete(run)) return
    run.controller.abort(new McpError('cancelled', 'Another worker has taken over the task'))
  }

  /** Adds missing jobs of ready tasks, for example after their creator crashed, and removes expired tasks. */
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
    for (let seen = sweepCount; seen === sweepCount && !this.#isEnded; ) {
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
    // Without a connection, BullMQ would wait for one forever.
    for (let idle = 0; !isClosed && idle < 2; idle = this.#runs.size > 0 ? 0 : idle + 1) {
      await settledWithin(stopTimeoutMs / 2, closing)
    }
    await this.#end()
  }

  async #end(): Promise<void> {
    this.#isEnded = true
    for (const timer of this.#timers) scheduler.clearInterval(timer)
    await settledWithin(stopTimeoutMs, Promise.all(this.#finishing))
    await this.#setup.onEnd()
  }

  #report(error: unknown): void {
    if (!this.#isEnded) this.#setup.options.onError(error)
  }
}

/** How often the task had become ready when the run started; null if it was not run. */
type Taken = string | null

interface Run {
  readonly jobId: string
  readonly token: string
  readonly controller: AbortController
  /** When the lock was last renewed. */
  renewedAt: number
}

/** Resolves when the promise settles, or after a timeout. */
async function settledWithin(ms: number, promise: Promise<unknown>): Promise<void> {
  let timer: Timer | undefined
  const timeout = new Promise((resolve) => {
    timer = scheduler.setTimeout(resolve, ms)
  })
  await Promise.race([promise, timeout])
  scheduler.clearTimeout(timer)
}
