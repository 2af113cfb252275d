import { fork } from 'node:child_process'

const worker = new URL('./worker.js', import.meta.url).pathname

/** Starting vitest and the first run take longer than later ones. */
const startMs = 60_000

/** Processes that run tests against mutants. A run that takes too long is killed with everything that it started. */
export class MutantPool {
  #processes = new Set()

  constructor() {
    process.on('exit', () => this.close())
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))
  }

  /**
   * Runs all jobs in `workers` processes.
   * @param jobs `{ mutant, replacement, tests, limitMs }` each.
   * @param onResult Called with a job and `{ status: 'killed' | 'timeout' | 'survived', killedBy, ms }`.
   */
  async run(jobs, workers, onResult) {
    const waiting = [...jobs]
    const work = async () => {
      let child
      for (let job = waiting.shift(); job; job = waiting.shift()) {
        child ??= await this.#start()
        const result = await this.#test(child, job)
        if (result.status === 'timeout') {
          this.#kill(child)
          child = undefined
        }
        onResult(job, result)
      }
      if (child) this.#kill(child)
    }
    await Promise.all(Array.from({ length: workers }, work))
  }

  close() {
    for (const child of this.#processes) this.#kill(child)
  }

  async #start() {
    const env = { ...process.env, TENON_MUTATE: 'mutants', NODE_ENV: 'test' }
    // The leader of a process group, so that it can be killed together with the processes of the tests.
    const child = fork(worker, { detached: true, env, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
    this.#processes.add(child)
    const message = await reply(child, startMs)
    if (!message?.isReady)
      throw new Error('The test process did not start: run node scripts/mutate/worker.js to see why')
    return child
  }

  async #test(child, { mutant, replacement, tests, limitMs }) {
    const began = performance.now()
    child.send({ mutant: { ...mutant, replacement }, tests })
    const message = await reply(child, limitMs)
    const ms = Math.round(performance.now() - began)
    if (!message) return { status: 'timeout', killedBy: undefined, ms }
    const { killedBy, finished } = message
    if (killedBy === undefined && finished !== tests.length)
      throw new Error(`Only ${finished} of ${tests.length} test files ran`)
    return { status: killedBy === undefined ? 'survived' : 'killed', killedBy, ms }
  }

  #kill(child) {
    this.#processes.delete(child)
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has exited.
    }
  }
}

/** The next message of a process; undefined if it takes too long or exits. */
function reply(child, limitMs) {
  return new Promise((resolve) => {
    const done = (message) => {
      clearTimeout(timer)
      child.removeAllListeners('message')
      child.removeAllListeners('exit')
      resolve(message)
    }
    const timer = setTimeout(() => done(undefined), limitMs)
    child.once('message', done)
    child.once('exit', () => done(undefined))
  })
}
