import type { EveryWireOptions, Wire } from 'tenon/testing'
import { everyWire } from '../../kit/every-wire.ts'

/** Transports that can carry a question: pipes, HTTP with sessions and HTTP without. */
const transports = ['memory', 'stdio', 'http', 'http-stateless'] as const

/** Registers a test on every wire that can carry questions to the client. */
export function everyAsking(
  title: string,
  body: (wire: Wire) => Promise<void>,
  options: Pick<EveryWireOptions, 'revisions'> = {},
): void {
  everyWire(title, body, { transports, skip: cannotAsk, ...options })
}

/** Registers a test on every wire with form elicitation, which was added in 2025-06-18. */
export function everyForm(title: string, body: (wire: Wire) => Promise<void>): void {
  everyAsking(title, body, { revisions: ['2025-06-18', '2025-11-25', '2026-07-28'] })
}

/** Registers a test on every wire with URL elicitation and tools in sampling, which were added in 2025-11-25. */
export function everyPage(title: string, body: (wire: Wire) => Promise<void>): void {
  everyAsking(title, body, { revisions: ['2025-11-25', '2026-07-28'] })
}

export function cannotAsk({ transport, revision }: Wire): string | undefined {
  const isClosed = transport === 'http-stateless' && revision.era === 'handshake'
  return isClosed ? 'a server without sessions cannot call clients of this revision back' : undefined
}
