import type { Bus } from '../../../../store/ports.ts'
import { lazy } from '../../../../util/lazy.ts'
import { runDetached } from '../../../../util/maybe-async.ts'
import { isObject } from '../../../../util/objects.ts'
import { random } from '../../../../util/random.ts'

const topic = 'tenon'

/** A message between the processes of a cluster. Exactly one kind of content is present. */
export interface ClusterMessage {
  /** A change that sessions and listeners are notified of. */
  change?: object
  /** The id of a session whose state was saved. */
  saved?: string
  /** The id of a session that was ended. */
  ended?: string
  /** The id of a session whose client now listens at the sender. */
  listens?: string
  /** The id of a session whose client no longer listens at the sender. */
  stopped?: string
  /** The id of a session whose client sent `message` to the wrong process, or to several. */
  for?: string
  message?: unknown
  /** The id of a session whose client has not received `texts` yet. */
  unsent?: string
  texts?: string[]
  /** Asks the process that opened a stream whether it still sends on it. */
  asks?: StreamName
  /** The answer to `asks`. */
  tells?: StreamName & { isOpen: boolean }
}

/** Identifies a stream of a session. */
export interface StreamName {
  session: string
  stream: string
}

/** Sends and receives the messages of a cluster. */
export class ClusterBus {
  readonly #bus: Bus
  readonly #reportError: (error: unknown) => void
  /** Distinguishes our own messages from those of others. */
  readonly #node = lazy(() => random.uuid())
  #unsubscribe: (() => void) | undefined
  #isClosed = false

  constructor(bus: Bus, onMessage: (message: ClusterMessage) => void, reportError: (error: unknown) => void) {
    this.#bus = bus
    this.#reportError = reportError
    void runDetached(async () => {
      this.#unsubscribe = await bus.subscribe(topic, (text) => {
        const message = parseMessage(text)
        if (message && message.node !== this.#node()) onMessage(message)
      })
      if (this.#isClosed) this.#unsubscribe()
    }, reportError)
  }

  publish(message: ClusterMessage): void {
    void runDetached(
      () => this.#bus.publish(topic, JSON.stringify({ node: this.#node(), ...message })),
      this.#reportError,
    )
  }

  close(): void {
    this.#isClosed = true
    this.#unsubscribe?.()
  }
}

/** Other programs may use the same bus, so a message that cannot be read is ignored. */
function parseMessage(text: string): (ClusterMessage & { node?: unknown }) | undefined {
  try {
    const message: unknown = JSON.parse(text)
    return isObject(message) ? message : undefined
  } catch {
    return undefined
  }
}
