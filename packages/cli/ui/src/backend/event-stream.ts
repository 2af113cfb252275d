import type { InspectorEvent } from '../../../src/inspector/protocol.ts'
import type { Inlet } from '../store/inlet.ts'
import type { Store } from '../store/store.ts'
import { type Backend, BackendError } from './backend.ts'

/** What the page says about its connection to the backend. */
export type StreamState = 'connecting' | 'open' | 'lost' | 'refused'

/** Reading pauses while this many events wait to be shown, so that memory stays bounded. */
const maxWaiting = 20_000
const retryMs = 1_000

/** Reads events into the inlet and connects again after an interruption. Ends when `signal` is aborted. */
export async function followEvents(options: {
  backend: Backend
  store: Store
  inlet: Inlet
  signal: AbortSignal
  onState: (state: StreamState) => void
}): Promise<void> {
  const { backend, store, inlet, signal, onState } = options
  while (!signal.aborted) {
    try {
      const stream = await backend.events(store.log.lastSeq, signal)
      onState('open')
      for await (const events of eventsOf(stream)) {
        inlet.push(events)
        while (inlet.waiting > maxWaiting) await pause(50)
      }
      onState('lost')
    } catch (error) {
      if (signal.aborted) return
      const isRefused = error instanceof BackendError && (error.status === 401 || error.status === 403)
      onState(isRefused ? 'refused' : 'lost')
      if (isRefused) return
    }
    while (inlet.waiting > 0) await pause(50)
    await pause(retryMs)
  }
}

/** Splits a stream of JSON lines. Blank lines keep the connection open and mean nothing. */
export async function* eventsOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<InspectorEvent[]> {
  const decoder = new TextDecoder()
  const reader = stream.getReader()
  const unread: string[] = []
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const text = decoder.decode(value, { stream: true })
    const end = text.lastIndexOf('\n')
    if (end === -1) {
      unread.push(text)
      continue
    }
    const lines = (unread.join('') + text.slice(0, end)).split('\n')
    unread.length = 0
    unread.push(text.slice(end + 1))
    yield lines.filter((line) => line.trim() !== '').map((line) => JSON.parse(line) as InspectorEvent)
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
