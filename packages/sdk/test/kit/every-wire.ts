import { type EveryWireOptions, everyWire as run, type Wire } from 'tenon/testing'
import { it } from 'vitest'
import { schemas } from './official-schemas.ts'

/** One test body on every wire, every message checked against the official schemas where they are to be had. */
export function everyWire(title: string, body: (wire: Wire) => Promise<void>, options: EveryWireOptions = {}): void {
  run(it, title, body, { transports: ['memory', 'stdio', 'http'], ...(schemas && { schemas }), ...options })
}

/** The same where one channel carries everything, for tests that speak for themselves and send what no client would. */
export function everyPipe(title: string, body: (wire: Wire) => Promise<void>, options: EveryWireOptions = {}): void {
  everyWire(title, body, { transports: ['memory', 'stdio'], ...options })
}
