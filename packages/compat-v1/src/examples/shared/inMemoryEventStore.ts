// An example in SDK 1.x that many programs import nevertheless.
import type { EventStore } from '../../server/streamableHttp.ts'
import type { JSONRPCMessage } from '../../types.ts'

/** Stores the events of streams in memory, without a limit. */
export class InMemoryEventStore implements EventStore {
  private readonly _tenonEvents = new Map<string, { streamId: string; message: JSONRPCMessage }>()
  private _tenonLast = 0

  async storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    const eventId = `${streamId}_${++this._tenonLast}`
    this._tenonEvents.set(eventId, { streamId, message })
    return eventId
  }

  async getStreamIdForEventId(eventId: string): Promise<string | undefined> {
    return this._tenonEvents.get(eventId)?.streamId
  }

  /** Events are stored in the order in which they were sent. */
  async replayEventsAfter(
    lastEventId: string,
    { send }: { send: (eventId: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const streamId = this._tenonEvents.get(lastEventId)?.streamId
    if (streamId === undefined) return ''
    const eventIds = [...this._tenonEvents.keys()]
    for (const eventId of eventIds.slice(eventIds.indexOf(lastEventId) + 1)) {
      const event = this._tenonEvents.get(eventId)!
      if (event.streamId === streamId) await send(eventId, event.message)
    }
    return streamId
  }
}
