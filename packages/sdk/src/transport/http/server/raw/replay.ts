import type { HeaderFields, HttpCall, Refusal } from '../call.ts'
import { eventStreamConnected, notFound, replayFailed, unknownEvent } from './refusals.ts'
import { type RawStreams, toEvent } from './streams.ts'

/** Answers a GET with `Last-Event-ID`: resumes the stream of that event. Returns the refusal if that is not possible. */
export async function resumeStream(
  streams: RawStreams,
  call: HttpCall,
  lastEventId: string,
  headers: HeaderFields,
  reportError: (error: unknown) => void,
): Promise<Refusal | undefined> {
  const store = streams.store!
  try {
    if (store.getStreamIdForEventId) {
      const known = await store.getStreamIdForEventId(lastEventId)
      if (!known) return unknownEvent()
      if (streams.isConnected(known)) return eventStreamConnected()
    }
    const events = new Map<string, string>()
    const id = await store.replayEventsAfter(lastEventId, {
      send: async (eventId, message) => {
        events.set(eventId, toEvent(JSON.stringify(message), eventId))
      },
    })
    if (streams.isClosed) return notFound()
    const sink = call.stream(headers)
    for (const text of events.values()) sink.write(text)
    streams.connect(id, call, sink, new Set(events.keys()))
    return undefined
  } catch (error) {
    reportError(error)
    return replayFailed()
  }
}
