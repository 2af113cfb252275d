import { ErrorCode } from '../../../../errors.ts'
import type { RequestId } from '../../../../jsonrpc/message.ts'
import type { EventStore } from '../../../../store/ports.ts'
import { isObject } from '../../../../util/objects.ts'
import { pause } from '../../../../util/scheduler.ts'
import type { SendEvent } from './event-stream.ts'
import type { StreamOrigin } from './stream-id.ts'

/** How often to look for more of a response that another process is sending. */
const pollMs = 500

/** A response that another process sends, and the client that wants the rest of it here. */
export interface FollowedResponse {
  readonly store: EventStore
  readonly origin: StreamOrigin
  /** The last event that the client received. */
  readonly lastEventId: string
  readonly send: SendEvent
  /** Whether the client still reads. */
  isWanted(): boolean
  /** Whether the other process still sends. */
  isRunning(): Promise<boolean>
}

/**
 * Sends the events that another process stores, until the response is complete. If that process is gone, sends an error in
 * place of the response, because no other process will.
 */
export async function followResponse(followed: FollowedResponse): Promise<void> {
  const { store, origin, send } = followed
  let lastEventId = followed.lastEventId
  let isComplete = false
  const pass = async (id: string, text: string) => {
    lastEventId = id
    isComplete ||= isResponseTo(origin.requestId, text)
    await send(id, text)
  }
  for (let isRunning = true; followed.isWanted(); ) {
    await replayEvents(store, lastEventId, pass)
    if (isComplete) return
    // The store is read once more after the process said that it is done, because the two may have crossed.
    if (!isRunning) return sendLost(origin, send)
    isRunning = await followed.isRunning()
    if (isRunning) await pause(pollMs, { unref: true })
  }
}

/** Sends the events after one of them. Returns the id of their stream; undefined if the store does not know the event. */
export async function replayEvents(
  store: EventStore,
  lastEventId: string,
  send: (id: string, text: string) => Promise<void>,
): Promise<string | undefined> {
  try {
    return await store.replayEventsAfter(lastEventId, {
      send: (id, message) => send(id, typeof message === 'string' ? message : JSON.stringify(message)),
    })
  } catch {
    // Stores reject an unknown event each in their own way.
    return undefined
  }
}

/** Whether this is the response to the request; undefined stands for a batch. */
function isResponseTo(requestId: RequestId | undefined, text: string): boolean {
  if (text === '') return false
  const message = JSON.parse(text)
  if (requestId === undefined) return Array.isArray(message)
  return isObject(message) && message.method === undefined && message.id === requestId
}

async function sendLost({ requestId: id }: StreamOrigin, send: SendEvent): Promise<void> {
  const message = 'The server process ended before it responded. The request may have been executed.'
  const error = { code: ErrorCode.InternalError, message }
  if (id !== undefined) await send(undefined, JSON.stringify({ jsonrpc: '2.0', id, error }))
}
