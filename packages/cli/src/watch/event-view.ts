import { safeJson, safeLine, safeText } from 'tenon/internal'
import { wrap } from '../columns.ts'
import type { Output } from '../output.ts'
import type { WatchEvent } from './events.ts'

/** One line for an event, with the time in front. Longer texts go on below. */
export function viewEvent(event: WatchEvent, { width, paint }: Output): string[] {
  const time = new Date(event.at).toTimeString().slice(0, 8)
  const [first = '', ...rest] = wrap(describe(event), width - time.length - 2)
  const indent = ' '.repeat(time.length + 2)
  return [`${paint.faint(time)}  ${first}`, ...rest.map((line) => indent + line)]
}

function describe(event: WatchEvent): string {
  switch (event.type) {
    case 'toolsChanged':
      return 'The list of tools changed'
    case 'promptsChanged':
      return 'The list of prompts changed'
    case 'resourcesChanged':
      return 'The list of resources changed'
    case 'updatesMissed':
      return 'The connection was interrupted, so some notifications may be lost'
    case 'resourceUpdated':
      return `Changed: ${safeLine(event.uri, 2_000)}`
    case 'log':
      return `${event.level}${event.logger ? ` ${safeLine(event.logger, 100)}` : ''}: ${textOf(event.data)}`
    case 'task':
      return `Task ${safeLine(event.id, 200)}: ${safeLine(event.status)}${event.message ? `, ${safeLine(event.message)}` : ''}`
    case 'state':
      return `${event.state === 'ready' ? 'Connected again' : 'Connecting again'}${event.reason ? `: ${safeLine(event.reason)}` : ''}`
    case 'warning':
      return `Ignored: ${safeLine(event.message, 1_000)}`
  }
}

const maxLogChars = 4_000

function textOf(data: unknown): string {
  return typeof data === 'string' ? safeText(data, maxLogChars) : safeText(safeJson(data), maxLogChars)
}
