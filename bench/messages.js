export const handshake = '2025-11-25'
export const stateless = '2026-07-28'

const clientInfo = { name: 'bench-load', version: '1.0.0' }

/** The handshake of a 2025-11-25 client. */
export const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: handshake, capabilities: {}, clientInfo },
}
export const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' }

/** Creates a request of the given revision; on 2026-07-28 every request identifies its client. */
export function request(revision, method, params) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': stateless,
    'io.modelcontextprotocol/clientInfo': clientInfo,
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const sent = revision === stateless ? { ...params, _meta } : params
  return { jsonrpc: '2.0', id: firstNumber, method, params: sent }
}

/** Placeholder for the number of a message in its template: as its id, and in texts that are echoed. */
export const firstNumber = 1_000_000
const digits = String(firstNumber).length

/** Positions of the number in a message: the offset of the last digit of each occurrence. */
export function numberPlaces(bytes) {
  const places = []
  for (let at = bytes.indexOf(String(firstNumber)); at !== -1; at = bytes.indexOf(String(firstNumber), at + digits)) {
    places.push(at + digits - 1)
  }
  return places
}

/** Updates the number of the message that begins at `start`. */
export function writeNumber(bytes, start, places, value) {
  for (let n = 0; n < places.length; n++) {
    let at = start + places[n]
    for (let rest = value; rest > 0; rest = (rest - (rest % 10)) / 10) bytes[at--] = 48 + (rest % 10)
  }
}

/**
 * Endless copies of one request as bytes, each with its own number. The copies are adjacent in a ring buffer, so that
 * any number of them can be sent in one write; before a copy is sent again, only its digits are updated.
 */
export class Deck {
  next = firstNumber
  #bytes
  #size
  #slots
  #places

  constructor(template, slots) {
    const copy = Buffer.from(`${JSON.stringify(template)}\n`)
    this.#places = numberPlaces(copy)
    this.#size = copy.length
    this.#slots = slots
    this.#bytes = Buffer.alloc(copy.length * slots, copy)
  }

  /** Passes the next `count` messages to `write` in one piece, or in two at the end of the ring. */
  deal(count, write) {
    while (count > 0) {
      const slot = (this.next - firstNumber) % this.#slots
      const run = Math.min(count, this.#slots - slot)
      for (let n = 0; n < run; n++) writeNumber(this.#bytes, (slot + n) * this.#size, this.#places, this.next++)
      write(this.#bytes.subarray(slot * this.#size, (slot + run) * this.#size))
      count -= run
    }
  }
}
