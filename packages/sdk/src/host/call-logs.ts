import type { Client } from '../client/client.ts'
import type { RpcNotification } from '../jsonrpc/message.ts'
import type { LoggingMessageParams } from '../protocol/logging.ts'

type Listener = (message: LoggingMessageParams) => void

/** Passes the log messages of one server on to the calls that they belong to. */
export class CallLogs {
  /** All calls, also those that want no messages: a message could belong to them. */
  readonly #calls = new Set<CallLog>()
  /** The last message on the stream of a call, and the listener of that call. */
  #onStream: { readonly params: unknown; readonly listener: Listener } | undefined
  /** The server does not have to send log messages until a call wants them. */
  #client: Client | undefined
  /** Receives messages while there is no call. */
  onIdle: Listener | undefined

  /**
   * @param listener Undefined if the call wants no messages.
   * @returns What to pass with the request of the call, and how to stop listening.
   */
  listen(client: Client, listener: Listener | undefined): CallLog {
    const call: CallLog = {
      listener,
      stop: () => this.#calls.delete(call),
      ...(listener && {
        onNotification: ({ params }) => {
          this.#onStream = { params, listener }
        },
      }),
    }
    if (listener) this.attach(client)
    this.#calls.add(call)
    return call
  }

  /** Receives the log messages of this client from now on. */
  attach(client: Client): void {
    if (this.#client === client) return
    this.#client = client
    client.on('log', (message) => this.#received(message))
  }

  /** A message on a channel that all calls share could belong to any of them, so it is passed on only if there is one. */
  #received(message: LoggingMessageParams): void {
    const [only, another] = this.#calls
    if (this.#onStream?.params === message) this.#onStream.listener(message)
    else if (only && !another) only.listener?.(message)
    else if (!only) this.onIdle?.(message)
    this.#onStream = undefined
  }
}

/** The log messages of one call. */
export interface CallLog {
  readonly listener: Listener | undefined
  readonly onNotification?: (notification: RpcNotification) => void
  stop(): void
}
