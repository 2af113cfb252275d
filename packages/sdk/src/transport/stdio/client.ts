import type { ChildProcess } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { type CloseDetail, ClosedError, McpError } from '../../errors.ts'
import type { RpcMessage } from '../../jsonrpc/message.ts'
import type { TextSender, Transport, TransportEvents } from '../../jsonrpc/transport.ts'
import type { Described, KeepsOutput, Restartable } from '../../protocol/transport.ts'
import { scheduler } from '../../util/scheduler.ts'
import { safeEnvironment } from './environment.ts'
import { endProcess, endRest, watchGroup } from './process-group.ts'
import { createReader, defaultMaxMessageBytes } from './reader.ts'
import { LineWriter } from './writer.ts'

export interface StdioServerParameters {
  /** The program to start; never run through a shell. */
  command: string
  args?: readonly string[] | undefined
  /** Added to a safe part of our own environment (PATH, HOME and the like). */
  env?: Record<string, string> | undefined
  cwd?: string | undefined
  /**
   * What to do with the server's stderr, besides keeping the last of it for error messages: `inherit` prints it, `pipe` makes it
   * available as `transport.stderr`, a function or a stream receives it. Default: nothing (`keep` and `ignore` say the same).
   */
  stderr?: ('keep' | 'ignore' | 'inherit' | 'pipe' | 'overlapped' | Writable | ((text: string) => void)) | undefined
  /** Longer messages are refused. Default 16 MiB. */
  maxMessageBytes?: number | undefined
  /** Requests that the server leaves unread before sending fails. Default 256 MiB. */
  maxQueuedBytes?: number | undefined
  /** How long the server gets to end after its stdin was closed, and again after SIGTERM. Default 2,000. */
  shutdownMs?: number | undefined
}

/**
 * With calls in groups of this size the server works on the first while the next are made: 16 calls in flight go through a
 * quarter faster than with all of a turn in one write, and the processor is busy a tenth longer.
 */
const linesPerWrite = 4

/** The last of stderr that is kept. */
const maxStderr = 16_384

/** Bytes of `transport.stderr` that wait to be read; more are dropped, so that a server never blocks on its stderr. */
const maxUnreadStderr = 1_048_576

/** Output that was still in the pipe when the process ended gets this long to arrive. */
const lastWordsMs = 200

/** A client's end of stdio: starts the server as a child process and ends it, with everything that it started. */
export class StdioClientTransport implements Transport, TextSender, Restartable, Described, KeepsOutput {
  onmessage?: Transport['onmessage'] | undefined
  onfault?: TransportEvents['onfault'] | undefined
  onclose?: Transport['onclose'] | undefined
  onerror?: Transport['onerror'] | undefined
  readonly restartable = true
  readonly peerKey: string
  readonly address: string
  readonly #parameters: StdioServerParameters
  #process: ChildProcess | undefined
  #writer: LineWriter | undefined
  #starting: Promise<void> | undefined
  #lastStderr = ''
  #stderr: Readable | null
  #stray = new StrayOutput()
  #ended: Promise<void> = Promise.resolve()

  constructor(parameters: StdioServerParameters) {
    this.#parameters = parameters
    this.#stderr = this.#createStderr()
    this.address = [parameters.command, ...(parameters.args ?? [])].join(' ')
    this.peerKey = JSON.stringify(['stdio', parameters.command, parameters.args ?? [], parameters.cwd])
  }

  /** The child process, once started. */
  get process(): ChildProcess | undefined {
    return this.#process
  }

  get pid(): number | undefined {
    return this.#process?.pid
  }

  /** What the server writes to stderr, with `stderr: 'pipe'`; available before `start()`, and the same after a restart. */
  get stderr(): Readable | null {
    return this.#stderr
  }

  /** The last of what the server wrote to stderr. */
  get lastStderr(): string {
    return this.#lastStderr
  }

  /** The text that the server printed to stdout in place of messages. */
  get strayOutput(): string {
    return this.#stray.text
  }

  /** Starts the server, unless it runs already. */
  start(): Promise<void> {
    if (this.#starting && !this.#hasEnded) return this.#starting
    const starting = this.#spawn()
    this.#starting = starting
    starting.catch(() => {
      if (this.#starting === starting) this.#starting = undefined
    })
    return starting
  }

  /** False while the process is being started. */
  get #hasEnded(): boolean {
    const child = this.#process
    return child !== undefined && (child.exitCode !== null || child.signalCode !== null)
  }

  async #spawn(): Promise<void> {
    const { default: spawn } = await import('cross-spawn')
    if (!spawn) throw new McpError('spawn-failed', 'Programs cannot be started on this runtime')
    const { command, args = [], env, cwd } = this.#parameters
    this.#lastStderr = ''
    this.#stray = new StrayOutput()
    if (this.#stderr?.readableEnded || this.#stderr?.destroyed) this.#stderr = this.#createStderr()
    const child = spawn(command, [...args], {
      cwd,
      env: { ...safeEnvironment(), ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      windowsHide: true,
      // A group of its own, so that what the server starts can be ended with it.
      detached: process.platform !== 'win32',
    })
    await spawned(child, command)
    this.#process = child
    watchGroup(child)
    this.#connectPipes(child)
    this.#ended = new Promise((resolve) =>
      child.once('exit', (code, signal) => resolve(this.#exited(child, code, signal))),
    )
  }

  send(message: RpcMessage | RpcMessage[]): void {
    this.sendText(JSON.stringify(message))
  }

  sendText(text: string): void {
    if (!this.#writer) throw new ClosedError('The server process has ended', { stderr: this.#lastStderr })
    this.#writer.write(text)
  }

  /** Closes the server's stdin and waits; then SIGTERM, then SIGKILL, to the whole process group. */
  async close(): Promise<void> {
    // A process that is just being started is to be ended too; that it could not be started was told already.
    const starting = this.#starting
    await starting?.catch(() => {})
    const child = this.#process
    if (!child) return
    const writer = this.#writer
    this.#writer = undefined
    const graceMs = this.#parameters.shutdownMs ?? 2_000
    await Promise.race([writer?.flushed(graceMs), this.#ended])
    child.stdin?.end()
    await endProcess(child, this.#ended, graceMs)
    this.#stderr?.push(null)
    // It may have been started again by whoever heard of the end.
    if (this.#starting !== starting) return
    this.#process = undefined
    this.#starting = undefined
  }

  #connectPipes(child: ChildProcess): void {
    const { maxMessageBytes = defaultMaxMessageBytes, maxQueuedBytes = 256 * 1024 * 1024 } = this.#parameters
    const stray = this.#stray
    const reader = createReader(this, maxMessageBytes, (line) => stray.add(line))
    // What a process says that was replaced by another is of no interest any more.
    const whileOurs =
      <T>(listener: (data: T) => void) =>
      (data: T) =>
        void (this.#process === child && listener(data))
    child.stdout!.on(
      'data',
      whileOurs((chunk: Buffer) => reader.push(chunk)),
    )
    child.stdout!.once(
      'end',
      whileOurs(() => stray.end(reader.rest)),
    )
    child.stderr!.setEncoding('utf8')
    child.stderr!.on(
      'data',
      whileOurs((text: string) => this.#keepStderr(text)),
    )
    // A server that went away breaks the pipe; its exit says so better.
    child.stdin!.on('error', () => {})
    this.#writer = new LineWriter(child.stdin!, { maxQueuedBytes, linesPerWrite })
  }

  #keepStderr(text: string): void {
    this.#lastStderr = (this.#lastStderr + text).slice(-maxStderr)
    const { stderr } = this.#parameters
    if (stderr === 'inherit') process.stderr.write(text)
    else if (typeof stderr === 'function') stderr(text)
    else if (typeof stderr === 'object') stderr.write(text)
    else if (this.#stderr && this.#stderr.readableLength < maxUnreadStderr) this.#stderr.push(text)
  }

  #createStderr(): Readable | null {
    const { stderr } = this.#parameters
    if (stderr !== 'pipe' && stderr !== 'overlapped') return null
    // Not imported, so that bundlers for browsers have nothing to resolve.
    const { Readable } = process.getBuiltinModule('node:stream')
    return new Readable({ read: () => {} })
  }

  async #exited(child: ChildProcess, exitCode: number | null, signal: string | null): Promise<void> {
    await lastWords(child)
    if (this.#process === child) this.#writer = undefined
    await endRest(child)
    if (this.#process !== child) return
    const detail: CloseDetail = { exitCode, signal, stderr: this.#lastStderr, ...this.#stray.detail }
    this.onclose?.(detail)
  }
}

function spawned(child: ChildProcess, command: string): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (cause: NodeJS.ErrnoException) => {
      const missing = 'there is no such program in PATH, or cwd does not exist'
      const hint = command.includes(' ') ? '; arguments go into args' : ''
      const why = cause.code === 'ENOENT' ? missing + hint : cause.message
      reject(new McpError('spawn-failed', `Could not start ${JSON.stringify(command)}: ${why}`, { cause }))
    })
  })
}

/** A process that the server started may hold the pipe open for ever, so this does not wait for the end of it. */
function lastWords(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    const timer = scheduler.setTimeout(resolve, lastWordsMs)
    child.once('close', () => {
      scheduler.clearTimeout(timer)
      resolve()
    })
  })
}

/** Characters of stray output that are kept. */
const maxStray = 2_000

/** What a program prints to stdout that is not a message: it may not be an MCP server, or print something by mistake. */
class StrayOutput {
  text = ''

  get detail(): Pick<CloseDetail, 'stdout'> {
    return this.text === '' ? {} : { stdout: this.text }
  }

  /** @param rest What came after the last line break. It may be a message that was cut off. */
  end(rest: string): void {
    if (rest.trim() !== '' && !rest.startsWith('{')) this.add(rest)
  }

  /** @param line Undefined for a message: the program is a server then. */
  add(line: string | undefined): void {
    if (line === undefined) this.text = ''
    else if (this.text.length < maxStray) this.text = `${this.text}${this.text && '\n'}${line}`.slice(0, maxStray)
  }
}
