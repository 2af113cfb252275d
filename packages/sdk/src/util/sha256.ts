/**
 * Computes the SHA-256 of a text (FIPS 180-4) without waiting. Web Crypto is asynchronous, which code that only computes names
 * cannot be. Use Web Crypto for everything else: it is faster, and constant in time.
 */
export function sha256(text: string): Uint8Array {
  const data = padded(new TextEncoder().encode(text))
  const state = Uint32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)))
  const words = new Uint32Array(64)
  for (let offset = 0; offset < data.byteLength; offset += 64) addBlock(state, words, data, offset)
  const digest = new DataView(new ArrayBuffer(32))
  state.forEach((value, index) => {
    digest.setUint32(index * 4, value)
  })
  return new Uint8Array(digest.buffer)
}

const primes = firstPrimes(64)
const constants = Uint32Array.from(primes, (prime) => fraction(Math.cbrt(prime)))

/** The first 32 bits of the fractional part. */
function fraction(value: number): number {
  return Math.floor((value - Math.floor(value)) * 2 ** 32)
}

function firstPrimes(count: number): number[] {
  const found: number[] = []
  for (let value = 2; found.length < count; value++) if (found.every((prime) => value % prime !== 0)) found.push(value)
  return found
}

/** The message, a 1 bit, zeros, and the length in bits. */
function padded(bytes: Uint8Array): DataView {
  const data = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64)
  data.set(bytes)
  data[bytes.length] = 0x80
  const view = new DataView(data.buffer)
  view.setUint32(data.length - 8, Math.floor(bytes.length / 2 ** 29))
  view.setUint32(data.length - 4, bytes.length << 3)
  return view
}

function addBlock(state: Uint32Array, words: Uint32Array, data: DataView, offset: number): void {
  for (let at = 0; at < 16; at++) words[at] = data.getUint32(offset + at * 4)
  for (let at = 16; at < 64; at++) {
    const early = words[at - 15]!
    const late = words[at - 2]!
    const mixedEarly = rotated(early, 7) ^ rotated(early, 18) ^ (early >>> 3)
    const mixedLate = rotated(late, 17) ^ rotated(late, 19) ^ (late >>> 10)
    words[at] = words[at - 16]! + mixedEarly + words[at - 7]! + mixedLate
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number]
  for (let at = 0; at < 64; at++) {
    const choice = (e & f) ^ (~e & g)
    const first = (h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + choice + constants[at]! + words[at]!) | 0
    const majority = (a & b) ^ (a & c) ^ (b & c)
    const second = ((rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + majority) | 0
    ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0]
  }
  for (const [index, value] of [a, b, c, d, e, f, g, h].entries()) state[index] = state[index]! + value
}

function rotated(value: number, bits: number): number {
  return (value >>> bits) | (value << (32 - bits))
}
