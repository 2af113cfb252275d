import type { ServerResponse } from 'node:http'
import type { EventLog } from './event-log.ts'

/** Events of this time are sent together. */
const batchMs = 15

/** Characters of one write. A page that reads slowly makes the backend keep no more than that for it. */
const batchChars = 256 * 1024

/** An idle stream has a blank line this often, so that both sides notice when the other is gone. */
const heartbeatMs = 15_000

/**
 * Sends the log after an event as JSON lines, and every later event as it happens, as fast as the page reads. A page that falls
 * far behind misses events that the log dropped.
 */
export function streamEvents(log: EventLog, after: number, response: ServerResponse): void {
  let cursor = after
  let isBlocked = false
  let timer: NodeJS.Timeout | undefined
  const canWrite = () => !isBlocked && !response.destroyed && !response.writableEnded
  const pump = () => {
    timer = undefined
    while (canWrite()) {
      const part = log.read(cursor, batchChars)
      if (!part) return
      cursor = part.last
      isBlocked = !response.write(part.text)
    }
  }
  const schedule = () => {
    if (canWrite()) timer ??= setTimeout(pump, batchMs)
  }
  const stopListening = log.onAppend(schedule)
  const heartbeat = setInterval(() => {
    if (canWrite()) response.write('\n')
  }, heartbeatMs)
  response.on('drain', () => {
    isBlocked = false
    schedule()
  })
  response.once('close', () => {
    stopListening()
    clearInterval(heartbeat)
    clearTimeout(timer)
  })
  response.writeHead(200, { 'content-type': 'application/jsonl; charset=utf-8' })
  response.flushHeaders()
  pump()
}
