const strict = new TextDecoder('utf-8', { fatal: true })

/**
 * Decodes UTF-8 strictly, on Node. Returns null if it is invalid. `toString` replaces invalid bytes with U+FFFD and is
 * much faster than a strict decoder for short texts. So only a text that contains this character, which may also be
 * valid, is decoded again.
 */
export function decodeUtf8(bytes: Uint8Array): string | null {
  const text = asBuffer(bytes).toString('utf8')
  if (!text.includes('\uFFFD')) return text
  try {
    return strict.decode(bytes)
  } catch {
    return null
  }
}

/**
 * Collects bytes that arrive in pieces. Small pieces are copied together: each would otherwise cost a hundred times its
 * size, and the peer chooses how small they are.
 */
export class ByteCollector {
  readonly #pieces: Uint8Array[] = []
  #block: Uint8Array | undefined
  #used = 0
  length = 0

  push(chunk: Uint8Array): void {
    this.length += chunk.length
    // Most messages arrive in one piece, or in large ones.
    if (this.#pieces.length === 0 || chunk.length >= largePiece) {
      this.#flush()
      this.#pieces.push(chunk)
      return
    }
    if (!this.#block || this.#block.length - this.#used < chunk.length) {
      this.#flush()
      this.#block = new Uint8Array(4 * largePiece)
    }
    this.#block.set(chunk, this.#used)
    this.#used += chunk.length
  }

  /** Returns all bytes. */
  take(): Uint8Array {
    this.#flush()
    return joinBytes(this.#pieces, this.length)
  }

  #flush(): void {
    if (this.#block && this.#used > 0) this.#pieces.push(this.#block.subarray(0, this.#used))
    this.#block = undefined
    this.#used = 0
  }
}

const largePiece = 4_096

/** @param length The length of all chunks together. */
export function joinBytes(chunks: readonly Uint8Array[], length: number): Uint8Array {
  if (chunks.length === 1) return chunks[0]!
  const joined = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    joined.set(chunk, offset)
    offset += chunk.byteLength
  }
  return joined
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
