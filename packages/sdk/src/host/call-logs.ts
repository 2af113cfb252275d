import type { Client } from '../client/client.ts'
import type { RpcNotification } from '../jsonrpc/message.ts'
import type { LoggingMessageParams } from '../protocol/logging.ts'
import { clock } from '../util/clock.ts'
import { TokenBucket } from '../util/token-bucket.ts'

/** Log messages of one connection that are passed on. As many as a server of this library sends for one call. */
const burst = 200
const perSecond = 100

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
  readonly #bucket = new TokenBucket(burst, perSecond, clock.monotonic())
  readonly #onFlood: () => void
  readonly #clean: (value: unknown) => unknown

  /**
   * @param onFlood Called for each message that is dropped, because the server sends too many.
   * @param clean Replaces what must not be handed on.
   */
  constructor(onFlood: () => void, clean: (value: unknown) => unknown) {
    this.#onFlood = onFlood
    this.#clean = clean
  }

  /**
   * @param listener Undefined if the call wants no messages.
   * @param isAlone Whether no message of an earlier call of another caller can arrive during this one.
   * @returns What to pass with the request of the call, and how to stop listening.
   */
  listen(client: Client, listener: Listener | undefined, isAlone: boolean): CallLog {
    const call: CallLog = {
      listener: isAlone ? listener : undefined,
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
    const listener = this.#listenerOf(message)
    this.#onStream = undefined
    if (!this.#bucket.take(clock.monotonic())) this.#onFlood()
    else if (listener) listener(this.#cleaned(message))
  }

  #listenerOf(message: LoggingMessageParams): Listener | undefined {
    const [only, another] = this.#calls
    if (this.#onStream?.params === message) return this.#onStream.listener
    if (only) return another ? undefined : only.listener
    return this.onIdle
  }

  #cleaned(message: LoggingMessageParams): LoggingMessageParams {
    const { level, logger, data } = message
    return {
      level,
      ...(logger !== undefined && { logger: String(this.#clean(logger)) }),
      data: this.#clean(data),
    }
  }
}

/** The log messages of one call. */
export interface CallLog {
  /** Receives messages that could belong to another call; undefined if nobody may. */
  readonly listener: Listener | undefined
  readonly onNotification?: (notification: RpcNotification) => void
  stop(): void
}
