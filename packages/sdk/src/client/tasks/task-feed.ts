import type { Listening } from '../../era/client.ts'
import { McpError } from '../../errors.ts'
import { type Deferred, deferred } from '../../util/deferred.ts'
import { unref } from '../../util/unref.ts'

/** Streams at a time; on HTTP each takes a connection. */
const maxStreams = 8

/** Tasks on one stream. */
const maxPerStream = 1_000

/** How long tasks are gathered for the next stream, once there is one. */
const gatherMs = 50

type Open = (ids: string[]) => Promise<Listening>

/**
 * Listens for changes of any number of tasks over a few streams. The tasks of a stream are fixed when it is opened
 * (2026-07-28, subscriptions/listen), so tasks that come at about the same time share one; when there are too many streams, the
 * smallest is opened anew together with the tasks that wait.
 */
export class TaskFeed {
  readonly #open: Open
  readonly #waiting = new Map<string, Member>()
  readonly #streams = new Set<Stream>()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(open: Open) {
    this.#open = open
  }

  /** Rejects where the server does not tell of this task, or too many are listened to: poll it instead. */
  listen(id: string): Promise<Listening> {
    const known = this.#waiting.get(id)
    if (known) return known.begun.promise
    const member = new Member(id)
    this.#waiting.set(id, member)
    if (this.#streams.size === 0) this.#openStream()
    else if (this.#timer === undefined) {
      this.#timer = setTimeout(() => this.#openStream(), gatherMs)
      unref(this.#timer)
    }
    return member.begun.promise
  }

  #openStream(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const members = [...this.#waiting.values()].slice(0, maxPerStream)
    for (const { id } of members) this.#waiting.delete(id)
    const smallest = this.#streams.size < maxStreams ? undefined : this.#smallest()
    if (smallest && smallest.members.size + members.length > maxPerStream) {
      for (const { begun } of members) begun.reject(new McpError('overloaded', 'Too many tasks are listened to'))
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

/** A task that is listened to, on whichever stream. */
class Member {
  readonly id: string
  readonly begun: Deferred<Listening> = deferred()
  readonly ended: Deferred<'closed' | 'lost'> = deferred()
  stream: Stream | undefined

  constructor(id: string) {
    this.id = id
    this.begun.promise.catch(() => {})
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
      for (const { begun, ended } of this.members) {
        begun.reject(error)
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
    // The server may be gone already.
    this.#listening?.close().catch(() => {})
  }

  leave(member: Member): void {
    member.ended.resolve('closed')
    this.members.delete(member)
    if (this.members.size === 0) this.close()
  }

  #accept(honoured: ReadonlySet<string>): void {
    for (const member of this.members) {
      const { id, begun, ended } = member
      if (honoured.has(id)) {
        const close = async () => member.stream?.leave(member)
        begun.resolve({ honoured: { taskIds: [id] }, ended: ended.promise, close })
      } else {
        begun.reject(new McpError('invalid-argument', 'The server does not tell of this task'))
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
