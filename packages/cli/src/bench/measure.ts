import { ClosedError } from 'tenon'
import type { Client } from 'tenon/client'
import { measureProcesses, type ProcessUsage } from './process-usage.ts'

/** What to measure. */
export interface BenchPlan {
  readonly clients: readonly Client[]
  /** The server processes, if they are children of this process. */
  readonly pids: readonly number[]
  readonly tool: string
  readonly args: Record<string, unknown>
  /** Calls at a time on each connection. */
  readonly concurrency: number
  readonly maxCalls: number
  readonly maxMs: number
  /** Memory is measured after each round. */
  readonly rounds: number
}

/** What was measured. */
export interface Measurement {
  /** The duration of each call in milliseconds. */
  readonly latencies: readonly number[]
  readonly errors: number
  readonly firstError: string | undefined
  readonly elapsedMs: number
  /** After each round; empty if the server is not a child process. */
  readonly usage: readonly ProcessUsage[]
  /** The CPU time that the server used during the calls. */
  readonly cpuSeconds: number | undefined
}

/** Calls that are not measured: the first ones include compilation and empty caches. */
const warmUpCalls = 20

/** Calls a tool again and again, in rounds. */
export async function measure(plan: BenchPlan): Promise<Measurement> {
  const run = new Run(plan)
  await run.round(Math.min(warmUpCalls, plan.maxCalls), plan.maxMs)
  run.reset()
  const before = measureProcesses(plan.pids)
  const usage: ProcessUsage[] = []
  const startedAt = performance.now()
  for (let round = 1; round <= plan.rounds && !run.isOver; round++) {
    const calls = Math.round((plan.maxCalls * round) / plan.rounds) - run.calls
    const deadline = startedAt + (plan.maxMs * round) / plan.rounds
    await run.round(calls, deadline - performance.now())
    const now = measureProcesses(plan.pids)
    if (now) usage.push(now)
  }
  const { latencies, errors, firstError } = run
  const after = usage.at(-1)
  return {
    latencies,
    errors,
    firstError,
    elapsedMs: performance.now() - startedAt,
    usage,
    cpuSeconds: before && after ? after.cpuSeconds - before.cpuSeconds : undefined,
  }
}

class Run {
  readonly #plan: BenchPlan
  latencies: number[] = []
  errors = 0
  firstError: string | undefined
  /** True once a connection is closed. */
  isOver = false

  constructor(plan: BenchPlan) {
    this.#plan = plan
  }

  get calls(): number {
    return this.latencies.length
  }

  reset(): void {
    this.latencies = []
    this.errors = 0
    this.firstError = undefined
  }

  /** Ends after this number of calls or milliseconds, whichever comes first. */
  async round(calls: number, ms: number): Promise<void> {
    const deadline = performance.now() + ms
    let left = calls
    const work = async (client: Client) => {
      while (left > 0 && !this.isOver && performance.now() < deadline) {
        left--
        await this.#call(client)
      }
    }
    const workers = this.#plan.clients.flatMap((client) =>
      Array.from({ length: this.#plan.concurrency }, () => work(client)),
    )
    await Promise.all(workers)
  }

  async #call(client: Client): Promise<void> {
    const { tool, args } = this.#plan
    const startedAt = performance.now()
    try {
      const { isError, text } = await client.callTool(tool, args)
      if (isError) this.#failed(text)
    } catch (error) {
      this.#failed(error instanceof Error ? error.message : String(error))
      if (error instanceof ClosedError) this.isOver = true
    }
    this.latencies.push(performance.now() - startedAt)
  }

  #failed(message: string): void {
    this.errors++
    this.firstError ??= message
  }
}
