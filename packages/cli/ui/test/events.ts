import type { InspectorEvent, InspectorFact, ServerAdded } from '../../src/inspector/protocol.ts'
import { Store } from '../src/store/store.ts'

/** A store to which facts were applied in order. */
export function storeOf(...facts: InspectorFact[]): Store {
  const store = new Store()
  for (const event of eventsOf(facts)) store.apply(event)
  return store
}

/** Numbers facts and dates them, one millisecond apart. */
export function eventsOf(facts: readonly InspectorFact[]): InspectorEvent[] {
  return facts.map((fact, index) => ({ seq: index + 1, at: 1_000 + index, ...fact }))
}

export const added: ServerAdded = {
  kind: 'server-added',
  server: 's',
  name: 'demo',
  address: 'http://127.0.0.1:3000/mcp',
  transport: 'http',
  revision: null,
}

export const ready: InspectorFact = { kind: 'server-state', server: 's', state: 'ready', revision: '2026-07-28' }

/** A message of the server `s`. */
export function message(direction: 'sent' | 'received', content: unknown, more: object = {}): InspectorFact {
  return { kind: 'message', server: 's', direction, message: content, bytes: 10, ...more }
}
