import type { Readable, Writable } from 'node:stream'
import { classify, TransportFault as Fault, type MessageKind } from 'tenon/jsonrpc'
import { StdioServerTransport as TenonStdioServerTransport } from 'tenon/server'
import type { Transport } from '../shared/transport.ts'
import type { JSONRPCMessage } from '../types.ts'

const defaultMaxBufferSize = 10 * 1024 * 1024
const parseError = -32700

/** Calls a handler with the kind of the message too, which saves Tenon from finding it out again. */
type KindHandler = (message: JSONRPCMessage, extra: undefined, kind: MessageKind) => void

/** The stdio transport of a server: reads messages from stdin and writes messages to stdout. */
export class StdioServerTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  /** Called when stdin has ended. */
  onend?: () => void
  private readonly _tenonPipes: TenonStdioServerTransport
  private readonly _tenonMaxBufferSize: number
  private _tenonIsStarted = false

  /** @param options `maxBufferSize`: a message with more bytes closes the transport. Default 10 MiB. */
  constructor(stdin?: Readable, stdout?: Writable, options?: { maxBufferSize?: number }) {
    const maxBufferSize = options?.maxBufferSize ?? defaultMaxBufferSize
    this._tenonPipes = new TenonStdioServerTransport({
      ...(stdin && { stdin }),
      // Named, so that Tenon does not reserve it: proxies of SDK 1.x write messages to stdout beside the transport.
      stdout: stdout ?? process.stdout,
      maxMessageBytes: maxBufferSize - 1,
    })
    this._tenonMaxBufferSize = maxBufferSize
  }

  /** Starts to read. `server.connect` calls it. */
  async start(): Promise<void> {
    if (this._tenonIsStarted) {
      throw new Error(
        'StdioServerTransport already started! If using Server class, note that connect() calls start() automatically.',
      )
    }
    this._tenonIsStarted = true
    this._tenonListen()
    await this._tenonPipes.start()
  }

  /** Called by `start`, not before, because a program may have wrapped this object. */
  private _tenonListen(): void {
    const pipes = this._tenonPipes
    pipes.onmessage = (message) => this._tenonReceive(message)
    pipes.onfault = (fault) => this._tenonRefuse(fault)
    pipes.onerror = (error) => this.onerror?.(error)
    pipes.onend = () => this.onend?.()
    pipes.onclose = () => this.onclose?.()
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this._tenonPipes.sendText(JSON.stringify(message))
  }

  /** Sends a message that is JSON text already. */
  sendText(text: string): void {
    this._tenonPipes.sendText(text)
  }

  close(): Promise<void> {
    return this._tenonPipes.close()
  }

  private _tenonReceive(message: unknown): void {
    const kind = classify(message)
    if (kind instanceof Fault) this.onerror?.(new Error(kind.message))
    else (this.onmessage as KindHandler | undefined)?.(message as JSONRPCMessage, undefined, kind)
  }

  /** Input that is not a message is reported and not answered. */
  private _tenonRefuse(fault: Fault): void {
    if (fault.code === parseError) return this.onerror?.(new SyntaxError(fault.message))
    this.onerror?.(new Error(`ReadBuffer exceeded maximum size of ${this._tenonMaxBufferSize} bytes`))
    void this.close()
  }
}
