import type { AskingServer } from '../handlers.ts'
import { type Layout, quote, wrap } from './layout.ts'
import { safeLine, safeText } from './safe-text.ts'

/**
 * Who asks, and in which words. A name is what the server calls itself, so its address stands beside it (2025-11-25
 * client/elicitation, security considerations: show which server asks).
 */
export function heading(title: string, server: AskingServer, message: string, layout: Layout): string[] {
  const { paint, width } = layout
  const line = `── ${title} `
  return [
    '',
    paint.strong(line + '─'.repeat(Math.max(0, width - line.length))),
    `From  ${paint.strong(serverName(server))} ${paint.faint('(as it calls itself)')}`,
    ...wrap(safeLine(server.address ?? 'not known', 400), width - 6).map((part, index) =>
      index === 0 ? `At    ${part}` : `      ${part}`,
    ),
    ...(message ? quote(safeText(message), layout) : []),
  ]
}

/** Short enough to stay on its line. */
export function serverName(server: AskingServer): string {
  return safeLine(server.name, 50) || 'a server without a name'
}
