import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { EventLog } from './event-log.ts'
import type { SavedTranscript } from './protocol.ts'

const partChars = 1024 * 1024

/** Sends the log as a file that the page can load again, as fast as the page reads. */
export async function sendTranscript(log: EventLog, response: ServerResponse): Promise<void> {
  const empty: SavedTranscript = { format: 'tenon-inspector', version: 1, events: [] }
  const [head] = JSON.stringify(empty).split(']')
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-disposition': 'attachment; filename="transcript.json"',
  })
  response.write(head)
  // Events that happen in the meantime are not part of it, so that it ends.
  const { last } = log
  let separator = ''
  for (let part = log.read(0, partChars, true); part; part = log.read(part.last, partChars, true)) {
    const isOpen = response.write(separator + part.text.trimEnd().replaceAll('\n', ','))
    separator = ','
    if (part.last >= last || response.destroyed) break
    if (!isOpen) await Promise.race([once(response, 'drain'), once(response, 'close')])
  }
  response.end(']}\n')
}
