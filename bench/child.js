import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** A contestant failed: it exited, or stopped responding. */
export class Failure extends Error {}

/** A contestant that does not respond for this long is removed. */
export const silenceMs = 20_000
const patienceMs = 500
const ticksPerSecond = 100

/**
 * The environment of all measured programs. Variables such as NODE_OPTIONS or NODE_EXTRA_CA_CERTS (which alone can
 * triple the startup time of Node.js) are removed.
 */
const cleanEnvironment = { PATH: process.env.PATH, HOME: process.env.HOME }

/** A measured program that exchanges raw bytes. */
export class Child {
  #process
  #onBytes = () => {}
  #fail = () => {}
  #ended = false
  #watch

  constructor(program, { args = [], nodeArgs = [], env = {} } = {}) {
    const path = fileURLToPath(new URL(program, import.meta.url))
    this.#process = spawn(process.execPath, [...nodeArgs, path, ...args], {
      stdio: ['pipe', 'pipe', process.env.BENCH_STDERR === '1' ? 'inherit' : 'ignore'],
      env: { ...cleanEnvironment, ...env },
    })
    this.#process.stdout.on('data', (chunk) => this.#onBytes(chunk))
    this.#process.stdin.on('error', () => {})
    this.#process.on('exit', (code, signal) => {
      this.#ended = true
      this.#fail(new Failure(`ended with ${signal ?? code}`))
    })
  }

  get pid() {
    return this.#process.pid
  }

  write(bytes) {
    this.#process.stdin.write(bytes)
  }

  /**
   * Passes every chunk to `onBytes(chunk, done)` until it calls `done`; rejects if the server exits or is silent.
   */
  listen(onBytes, start) {
    return new Promise((resolve, reject) => {
      const settle = (finish, value) => {
        clearInterval(this.#watch)
        this.#onBytes = this.#fail = () => {}
        finish(value)
      }
      const done = (value) => settle(resolve, value)
      this.#fail = (error) => settle(reject, error)
      if (this.#ended) return this.#fail(new Failure('ended early'))
      let heard = true
      this.#onBytes = (chunk) => {
        heard = true
        onBytes(chunk, done)
      }
      this.#watch = setInterval(() => {
        if (!heard) this.#fail(new Failure(`silent for ${silenceMs / 1000} s`))
        heard = false
      }, silenceMs)
      start?.()
    })
  }

  /** Sends one message and returns its parsed response. */
  ask(message) {
    let text = ''
    return this.listen(
      (chunk, done) => {
        text += chunk
        if (text.endsWith('\n')) done(JSON.parse(text))
      },
      () => this.tell(message),
    )
  }

  tell(message) {
    this.write(`${JSON.stringify(message)}\n`)
  }

  /** Returns the CPU seconds used so far by the process, in all its threads. */
  cpuSeconds() {
    const stat = readFileSync(`/proc/${this.pid}/stat`, 'latin1')
    // Fields 14 and 15, counted after the program name, which may contain spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
  }

  /** Returns the resident memory in MB. */
  residentMb() {
    const status = readFileSync(`/proc/${this.pid}/status`, 'latin1')
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)[1]) / 1024
  }

  /** Ends stdin, as a client does, and kills the process only if that is not enough. */
  async close() {
    if (this.#ended) return
    const exit = new Promise((resolve) => this.#process.once('exit', resolve))
    const insist = setTimeout(() => this.#process.kill('SIGKILL'), patienceMs)
    this.#process.stdin.end()
    await exit
    clearTimeout(insist)
  }
}
