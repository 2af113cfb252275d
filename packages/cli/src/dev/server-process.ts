import { type CloseDetail, ClosedError, type RpcMessage, type RpcRequest } from 'tenon'
import { StdioClientTransport, type StdioServerParameters } from 'tenon/client'
import { isResponse } from './messages.ts'

/** How to start the server, and what to call it in messages. */
export interface Program extends Pick<StdioServerParameters, 'command' | 'args' | 'env' | 'cwd'> {
  /** The file or command, as the user wrote it. */
  readonly label: string
}

/** Events of a `ServerProcess`. */
export interface ServerEvents {
  message(message: unknown): void
  /** A line on stdout that is not a message. */
  stray(problem: string): void
  stderr(text: string): void
  /** The process has exited, by itself or because it was stopped. */
  exit(exit: CloseDetail): void
}

/** One process of the server. It is never started again: a restart makes another one. */
export class ServerProcess {
  readonly #transport: StdioClientTransport
  readonly #answers = new Map<string, (response: RpcMessage | undefined) => void>()
  #count = 0
  #hasExited = false
  /** It has sent at least one message, so its code could be loaded. */
  hasSpoken = false

  constructor({ label: _label, ...program }: Program, events: ServerEvents) {
    const transport = new StdioClientTransport({ ...program, stderr: events.stderr, shutdownMs: graceMs })
    transport.onmessage = (message) => {
      this.hasSpoken = true
      if (!this.#answered(message)) events.message(message)
    }
    transport.onfault = ({ message }) => events.stray(message)
    transport.onclose = (exit = {}) => {
      this.#hasExited = true
      for (const settle of this.#answers.values()) settle(undefined)
      events.exit(exit)
    }
    this.#transport = transport
  }

  /** Starts the process. Rejects if the program does not exist. */
  start(): Promise<void> {
    return this.#transport.start()
  }

  /** Sends a message as it is, or a batch. A process that has exited gets nothing; its `exit` event follows. */
  send(message: unknown): void {
    try {
      this.#transport.sendText(JSON.stringify(message))
    } catch (error) {
      if (!(error instanceof ClosedError)) throw error
    }
  }

  /** Sends a request of our own. Resolves with the response, or undefined if the process exits before. */
  request({ method, params }: Pick<RpcRequest, 'method' | 'params'>): Promise<RpcMessage | undefined> {
    const id = `tenon-dev-own-${++this.#count}`
    return new Promise((resolve) => {
      this.#answers.set(id, resolve)
      if (this.#hasExited) resolve(undefined)
      else this.send({ jsonrpc: '2.0', id, method, ...(params && { params }) })
    })
  }

  /** Closes stdin, then sends SIGTERM and SIGKILL. Resolves when the process and its children are gone. */
  stop(): Promise<void> {
    return this.#transport.close()
  }

  #answered(message: unknown): boolean {
    if (!isResponse(message)) return false
    const settle = this.#answers.get(String(message.id))
    settle?.(message)
    return this.#answers.delete(String(message.id))
  }
}

/** How long a running call may go on after a change, and again after SIGTERM. The author waits for the new version. */
const graceMs = 500
