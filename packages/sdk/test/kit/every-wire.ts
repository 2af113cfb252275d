import { type EveryWireOptions, everyWire as run, type Wire } from 'tenon/testing'
import { it } from 'vitest'
import { noteMissingSchemas, schemas } from './official-schemas.ts'

/** Registers a test on every wire. Messages are validated with the official schemas when those are available. */
export function everyWire(title: string, body: (wire: Wire) => Promise<void>, options: EveryWireOptions = {}): void {
  const noted = (wire: Wire) => {
    noteMissingSchemas()
    return body(wire)
  }
  run(it, title, noted, { transports: ['memory', 'stdio', 'http'], ...(schemas && { schemas }), ...options })
}

/** Registers a test on wires with a single channel, for tests that send raw messages. */
export function everyPipe(title: string, body: (wire: Wire) => Promise<void>, options: EveryWireOptions = {}): void {
  everyWire(title, body, { transports: ['memory', 'stdio'], ...options })
}
