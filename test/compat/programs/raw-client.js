import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/** Speaks JSON-RPC with a program over stdio, and nothing else: no SDK comes between the program and what is recorded. */
export class RawClient {
  #child
  #waiting = new Map()
  #listeners = new Map()
  #nextId = 1
  #stderr = ''
  /** Messages of the program that are not responses, in order. */
  notifications = []

  /** @param {string[]} command The file to start with Node, and its arguments. */
  constructor(command, env) {
    this.#child = spawn(process.execPath, command, { env, stdio: 'pipe' })
    this.#child.stdin.on('error', () => {})
    this.#child.stderr.on('data', (text) => {
      this.#stderr += text
    })
    this.#child.once('exit', (code) => this.#exited(code))
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#received(line))
  }

  /** Sends a request and resolves with the result or error of its response. */
  request({ method, params }) {
    const id = this.#nextId++
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#write({ jsonrpc: '2.0', id, method, ...(params && { params }) })
    })
  }

  notify(method, params) {
    this.#write({ jsonrpc: '2.0', method, ...(params && { params }) })
  }

  /** Resolves with the first notification of a method. */
  notified(method) {
    return new Promise((resolve) => {
      this.#listeners.set(method, resolve)
    })
  }

  close() {
    return new Promise((resolve) => {
      if (this.#child.exitCode !== null) return resolve()
      this.#child.once('exit', resolve)
      this.#child.kill('SIGKILL')
    })
  }

  #write(message) {
    this.#child.stdin.write(`${JSON.stringify(message)}\n`)
  }

  #received(line) {
    const message = JSON.parse(line)
    if ('method' in message) {
      this.notifications.push(message)
      this.#listeners.get(message.method)?.(message)
      // A program may wait for the answer of its client before it goes on.
      if ('id' in message) this.#write({ jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'None' } })
      return
    }
    const { result, error } = message
    this.#waiting.get(message.id)?.resolve(error ? { error } : { result })
    this.#waiting.delete(message.id)
  }

  #exited(code) {
    for (const { reject } of this.#waiting.values()) {
      reject(new Error(`The program exited with code ${code}: ${this.#stderr.slice(0, 2_000)}`))
    }
  }
}
