import type { Listening } from '../../era/client.ts'
import { McpError } from '../../errors.ts'
import { type Deferred, deferred } from '../../util/deferred.ts'
import { scheduler, type Timer } from '../../util/scheduler.ts'

/** The maximum number of streams; on HTTP each uses a connection. */
const maxStreams = 8

/** The maximum number of tasks per stream. */
const maxPerStream = 1_000

/** How long to collect tasks for the next stream, if there is already one. */
const gatherMs = 50

type Open = (ids: string[]) => Promise<Listening>

/**
 * Listens for updates of any number of tasks over a few streams. The tasks of a stream are fixed when it is opened
 * (2026-07-28, subscriptions/listen), so tasks that are added at about the same time share one. At the maximum number of
 * streams, the smallest is replaced by one that also has the waiting tasks.
 */
export class TaskStreams {
  readonly #open: Open
  readonly #waiting = new Map<string, Member>()
  readonly #streams = new Set<Stream>()
  #timer: Timer | undefined

  constructor(open: Open) {
    this.#open = open
  }

  /** Rejects if the server does not send updates of this task, or the limit is reached: poll it instead. */
  listen(id: string): Promise<Listening> {
    const known = this.#waiting.get(id)
    if (known) return known.started.promise
    const member = new Member(id)
    this.#waiting.set(id, member)
    if (this.#streams.size === 0) this.#openStream()
    else if (this.#timer === undefined) {
      this.#timer = scheduler.setTimeout(() => this.#openStream(), gatherMs)
      scheduler.unref(this.#timer)
    }
    return member.started.promise
  }

  #openStream(): void {
    scheduler.clearTimeout(this.#timer)
    this.#timer = undefined
    const members = [...this.#waiting.values()].slice(0, maxPerStream)
    for (const { id } of members) this.#waiting.delete(id)
    const smallest = this.#streams.size < maxStreams ? undefined : this.#smallest()
    if (smallest && smallest.members.size + members.length > maxPerStream) {
      for (const { started } of members)
        started.reject(new McpError('overloaded', 'The client listens to too many tasks'))
      return
    }
    const stream = new Stream([...members, ...(smallest?.members ?? [])], (ended) => this.#streams.delete(ended))
    this.#streams.add(stream)
    if (smallest) {
      this.#streams.delete(smallest)
      smallest.members.clear()
    }
    void stream.begin(this.#open).then(() => smallest?.close())
    if (this.#waiting.size > 0) this.#openStream()
  }

  #smallest(): Stream {
    return [...this.#streams].reduce((least, stream) => (stream.members.size < least.members.size ? stream : least))
  }
}

/** One task and the stream that it is on. */
class Member {
  readonly id: string
  readonly started: Deferred<Listening> = deferred()
  readonly ended: Deferred<'closed' | 'lost'> = deferred()
  stream: Stream | undefined

  constructor(id: string) {
    this.id = id
    this.started.promise.catch(() => {})
  }
}

class Stream {
  readonly members: Set<Member>
  readonly #onEnd: (stream: Stream) => void
  #listening: Listening | undefined
  #isClosed = false

  constructor(members: Member[], onEnd: (stream: Stream) => void) {
    this.members = new Set(members)
    for (const member of members) member.stream = this
    this.#onEnd = onEnd
  }

  async begin(open: Open): Promise<void> {
    try {
      const listening = await open([...this.members].map(({ id }) => id))
      this.#listening = listening
      void listening.ended.then((how) => this.#ended(how))
      this.#accept(new Set(listening.honoured.taskIds))
    } catch (error) {
      for (const { started, ended } of this.members) {
        started.reject(error)
        ended.resolve('lost')
      }
      this.members.clear()
      this.close()
    }
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#onEnd(this)
    // The connection may be closed already.
    this.#listening?.close().catch(() => {})
  }

  leave(member: Member): void {
    member.ended.resolve('closed')
    this.members.delete(member)
    if (this.members.size === 0) this.close()
  }

  #accept(honoured: ReadonlySet<string>): void {
    for (const member of this.members) {
      const { id, started, ended } = member
      if (honoured.has(id)) {
        const close = async () => member.stream?.leave(member)
        started.resolve({ honoured: { taskIds: [id] }, ended: ended.promise, close })
      } else {
        started.reject(new McpError('invalid-argument', 'The server does not send updates of this task'))
        ended.resolve('closed')
        this.members.delete(member)
      }
    }
    if (this.members.size === 0) this.close()
  }

  #ended(how: 'closed' | 'lost'): void {
    for (const { ended } of this.members) ended.resolve(how)
    this.members.clear()
    this.close()
  }
}
