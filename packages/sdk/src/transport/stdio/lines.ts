import { LineSplitter } from '../../jsonrpc/lines.ts'
import { Fault } from '../../jsonrpc/message.ts'
import { parseText } from '../../jsonrpc/parse.ts'
import type { Transport } from '../../jsonrpc/transport.ts'

/** Room for the largest message anyone sends on purpose; more than this is refused, not buffered. */
export const defaultMaxMessageBytes = 64 * 1024 * 1024

/** Bytes from a pipe to messages for a transport's handlers. */
export function createReader(transport: Transport, maxMessageBytes: number): LineSplitter {
  return new LineSplitter({
    maxBytes: maxMessageBytes,
    decode,
    join: (parts, length) => Buffer.concat(parts, length),
    onLine: (line) => {
      const value = parseText(line)
      if (!(value instanceof Fault)) transport.onmessage?.(value)
      else if (line.trim() !== '') transport.onfault?.(value)
    },
    onFault: (fault) => transport.onfault?.(fault),
  })
}

const strict = new TextDecoder('utf-8', { fatal: true })

/**
 * Strict UTF-8. `toString` puts U+FFFD where bytes are wrong and is much faster than a strict decoder for short
 * messages; so only a text with that character, which may also be there rightly, is decoded again.
 */
function decode(bytes: Uint8Array): string | null {
  const text = asBuffer(bytes).toString('utf8')
  if (!text.includes('\uFFFD')) return text
  try {
    return strict.decode(bytes)
  } catch {
    return null
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
