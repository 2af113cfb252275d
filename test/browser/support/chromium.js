import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { Page } from './page.js'

const names = ['chromium', 'chromium-browser', 'google-chrome']

/** The program in CHROMIUM, or else one on the PATH; undefined if there is none. */
export function findChromium() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM
  const folders = (process.env.PATH ?? '').split(delimiter)
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram)
}

/** Starts a headless browser. */
export async function startChromium() {
  const browser = new Chromium(findChromium(), mkdtempSync(join(tmpdir(), 'browser-')))
  try {
    await browser.send('Browser.getVersion')
    return browser
  } catch (error) {
    await browser.close()
    throw error
  }
}

/**
 * Chromium, driven by the DevTools protocol: JSON messages that end with a NUL, written to its file descriptor 3 and
 * read from 4. Emits its events as `${method}`, with the params and the session id.
 */
class Chromium extends EventEmitter {
  #child
  #folder
  #exited
  /** Why the browser exited. */
  #end
  #calls = new Map()
  #lastId = 0
  #unread = ''
  #complaints = ''

  constructor(program, folder) {
    super()
    this.#folder = folder
    this.setMaxListeners(0)
    const stdio = ['ignore', 'ignore', 'pipe', 'pipe', 'pipe']
    // Its own process group, so that all its processes can be killed together.
    this.#child = spawn(program, [...flags, `--user-data-dir=${folder}`], { stdio, detached: true })
    // Also emitted for a program that cannot be started.
    this.#exited = once(this.#child, 'exit').then(
      ([code]) => this.#fail(`the browser ended with ${code}`),
      (error) => this.#fail(`the browser did not start (${error.code})`),
    )
    this.#child.stderr.setEncoding('utf8').on('data', (text) => {
      this.#complaints = (this.#complaints + text).slice(-2_000)
    })
    // Pending commands are rejected when the process exits.
    this.#child.stdio[3].on('error', () => {})
    this.#child.stdio[4].setEncoding('utf8').on('data', (text) => this.#read(text))
  }

  send(method, params = {}, sessionId = undefined) {
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      if (this.#end !== undefined) return reject(new Error(`${method}: ${this.#end}`))
      this.#calls.set(id, { method, resolve, reject })
      this.#child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`)
    })
  }

  /** Opens a tab in a new profile without cookies; `{ profile }` opens it in the profile of another tab. */
  async open(options = {}) {
    const profile = options.profile ?? (await this.send('Target.createBrowserContext')).browserContextId
    // In its own window: a background tab would not receive key presses.
    const target = { url: 'about:blank', browserContextId: profile, newWindow: true }
    const { targetId } = await this.send('Target.createTarget', target)
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true })
    const page = new Page(this, sessionId, profile)
    await page.prepare(options)
    return page
  }

  async close() {
    this.send('Browser.close').catch(() => {})
    const timer = setTimeout(() => this.#kill(), 5_000)
    await this.#exited
    clearTimeout(timer)
    this.#kill()
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }

  #read(text) {
    const messages = (this.#unread + text).split('\0')
    this.#unread = messages.pop()
    for (const message of messages) this.#receive(JSON.parse(message))
  }

  #receive({ id, method, params, sessionId, result, error }) {
    if (id === undefined) return this.emit(method, params, sessionId)
    const call = this.#calls.get(id)
    this.#calls.delete(id)
    if (error) call?.reject(new Error(`${call.method}: ${error.message}`))
    else call?.resolve(result)
  }

  #fail(why) {
    this.#end = `${why}\n${this.#complaints}`
    for (const { method, reject } of this.#calls.values()) reject(new Error(`${method}: ${this.#end}`))
    this.#calls.clear()
  }

  #kill() {
    if (this.#child.pid === undefined) return
    try {
      process.kill(-this.#child.pid, 'SIGKILL')
    } catch (error) {
      if (error.code !== 'ESRCH') throw error
    }
  }
}

/** Blocks all requests except those of the tests, and all host names. */
const flags = [
  '--headless=new',
  '--remote-debugging-pipe',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-extensions',
  '--disable-sync',
  '--no-default-browser-check',
  '--no-first-run',
  '--no-proxy-server',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  // The sandbox of Chromium does not run as root, which is common in containers.
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
]

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
