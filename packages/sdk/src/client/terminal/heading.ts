import { safeLine } from '../../util/safe-text.ts'
import type { ServerIdentity } from '../input/handlers.ts'
import { type Layout, quote, wrap } from './layout.ts'
import { promptText } from './prompt-text.ts'

/**
 * The title, server and message of a request. Servers choose their own names, so the address is shown as well (2025-11-25
 * client/elicitation, security considerations).
 */
export function heading(title: string, server: ServerIdentity, message: string, layout: Layout): string[] {
  const { paint, width } = layout
  const line = `── ${title} `
  return [
    '',
    paint.strong(line + '─'.repeat(Math.max(0, width - line.length))),
    `From  ${paint.strong(serverName(server))} ${paint.faint('(self-reported)')}`,
    ...wrap(safeLine(server.address ?? 'unknown', 400), width - 6).map((part, index) =>
      index === 0 ? `At    ${part}` : `      ${part}`,
    ),
    ...(message ? quote(promptText(message), layout) : []),
  ]
}

/** The name of the server, short enough for one line. */
export function serverName(server: ServerIdentity): string {
  return safeLine(server.name, 50) || 'an unnamed server'
}
