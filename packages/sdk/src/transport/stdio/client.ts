import type { ChildProcess } from 'node:child_process'
import { type CloseDetail, ClosedError, McpError } from '../../errors.ts'
import type { RpcMessage } from '../../jsonrpc/message.ts'
import type { Transport } from '../../jsonrpc/transport.ts'
import { safeEnvironment } from './environment.ts'
import { createReader, defaultMaxMessageBytes } from './lines.ts'
import { endProcess, endRest, watchGroup } from './process-group.ts'
import { LineWriter } from './writer.ts'

export interface StdioServerParameters {
  /** The program to start; never run through a shell. */
  command: string
  args?: readonly string[] | undefined
  /** Added to a safe part of our own environment (PATH, HOME and the like). */
  env?: Record<string, string> | undefined
  cwd?: string | undefined
  /** What to do with the server's stderr besides keeping the last of it for error messages. Default: nothing. */
  stderr?: ('keep' | 'inherit' | ((text: string) => void)) | undefined
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

/** Output that was still in the pipe when the process ended gets this long to arrive. */
const lastWordsMs = 200

/** A client's end of stdio: starts the server as a child process and ends it, with everything that it started. */
export class StdioClientTransport implements Transport {
  onmessage?: Transport['onmessage'] | undefined
  onfault?: Transport['onfault'] | undefined
  onclose?: Transport['onclose'] | undefined
  onerror?: Transport['onerror'] | undefined
  readonly restartable = true
  readonly peerKey: string
  readonly address: string
  readonly #parameters: StdioServerParameters
  #process: ChildProcess | undefined
  #writer: LineWriter | undefined
  #starting: Promise<void> | undefined
  #stderr = ''
  #ended: Promise<void> = Promise.resolve()

  constructor(parameters: StdioServerParameters) {
    this.#parameters = parameters
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

  /** The last of what the server wrote to stderr. */
  get stderr(): string {
    return this.#stderr
  }

  start(): Promise<void> {
    this.#starting = this.#spawn()
    return this.#starting
  }

  async #spawn(): Promise<void> {
    const { default: spawn } = await import('cross-spawn')
    if (!spawn) throw new McpError('spawn-failed', 'Programs cannot be started on this runtime')
    const { command, args = [], env, cwd } = this.#parameters
    this.#stderr = ''
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
    if (!this.#writer) throw new ClosedError('The server process has ended', { stderr: this.#stderr })
    this.#writer.write(text)
  }

  /** Closes the server's stdin and waits; then SIGTERM, then SIGKILL, to the whole process group. */
  async close(): Promise<void> {
    // A process that is just being started is to be ended too; that it could not be started was told already.
    await this.#starting?.catch(() => {})
    const child = this.#process
    if (!child) return
    const writer = this.#writer
    this.#writer = undefined
    const graceMs = this.#parameters.shutdownMs ?? 2_000
    await Promise.race([writer?.flushed(graceMs), this.#ended])
    child.stdin?.end()
    await endProcess(child, this.#ended, graceMs)
    this.#process = undefined
  }

  #connectPipes(child: ChildProcess): void {
    const { maxMessageBytes = defaultMaxMessageBytes, maxQueuedBytes = 256 * 1024 * 1024 } = this.#parameters
    const reader = createReader(this, maxMessageBytes, true)
    // What a process says that was replaced by another is of no interest any more.
    const whileOurs =
      <T>(listener: (data: T) => void) =>
      (data: T) =>
        void (this.#process === child && listener(data))
    child.stdout!.on(
      'data',
      whileOurs((chunk: Buffer) => reader.push(chunk)),
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
    this.#stderr = (this.#stderr + text).slice(-maxStderr)
    const { stderr } = this.#parameters
    if (stderr === 'inherit') process.stderr.write(text)
    else if (typeof stderr === 'function') stderr(text)
  }

  async #exited(child: ChildProcess, exitCode: number | null, signal: string | null): Promise<void> {
    await lastWords(child)
    if (this.#process === child) this.#writer = undefined
    await endRest(child)
    if (this.#process !== child) return
    const detail: CloseDetail = { exitCode, signal, stderr: this.#stderr }
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
    const timer = setTimeout(resolve, lastWordsMs)
    child.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
