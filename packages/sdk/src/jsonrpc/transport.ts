import type { CloseDetail } from '../errors.ts'
import type { Fault, RpcMessage } from './message.ts'

/**
 * The port to any channel that carries JSON-RPC messages both ways. A custom transport implements `start`, `send` and
 * `close` and calls `onmessage` and `onclose`; the rest is optional and makes it faster or more informative.
 */
export interface Transport {
  /** Begin to receive. Called once, after the handlers below are set. */
  start(): Promise<void>
  /** Hand over one message (or a batch). May throw or reject when it cannot be delivered. */
  send(message: RpcMessage | RpcMessage[]): Promise<void> | void
  close(): Promise<void>

  /** One parsed message, or an array that may be a batch. */
  onmessage?: ((message: unknown) => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onclose?: ((detail?: CloseDetail) => void) | undefined

  /** Takes a message that is JSON text already, so that it need not be built as an object first. */
  sendText?(text: string): void
  /** Something came that is no message: not JSON, not UTF-8, too long. */
  onfault?: ((fault: Fault) => void) | undefined
  /** The peer sends no more, but can still be answered. */
  onend?: (() => void) | undefined
  /** Tells an HTTP transport which revision was agreed on. */
  setProtocolVersion?(version: string): void
  /** True when `start` may be called again after the connection ended, as with a child process. */
  readonly restartable?: boolean | undefined
  /** Names the place at the other end, so that what was learned about it can be remembered. */
  readonly peerKey?: string | undefined
  /** True on HTTP, where a tool's `x-mcp-header` annotations become headers. */
  readonly readsHeaders?: boolean | undefined
  /** The last of what the peer wrote beside its messages. */
  readonly stderr?: string | undefined
  readonly sessionId?: string | undefined
}
