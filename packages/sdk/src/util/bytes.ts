const strict = new TextDecoder('utf-8', { fatal: true })

/**
 * Strict UTF-8 on Node; null when it is none. `toString` puts U+FFFD where bytes are wrong and is much faster than a strict
 * decoder for short texts; so only a text with that character, which may also be there rightly, is decoded again.
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

/** @param length Of all of them together. */
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
