import { LineSplitter } from '../../jsonrpc/line-splitter.ts'
import { Fault } from '../../jsonrpc/message.ts'
import { parseText } from '../../jsonrpc/parse.ts'
import type { LinkTransport } from '../../jsonrpc/transport.ts'
import { decodeUtf8 } from '../../util/bytes.ts'

/** Room for the largest message anyone sends on purpose; more than this is refused, not buffered. */
export const defaultMaxMessageBytes = 16 * 1024 * 1024

/**
 * Bytes from a pipe to messages for a transport's handlers.
 * @param onStray Receives lines that are not messages, and undefined for each message. Where it is given, errors quote the
 * beginning of such a line.
 */
export function createReader(
  transport: Pick<LinkTransport, 'onmessage' | 'onfault'>,
  maxMessageBytes: number,
  onStray?: (line: string | undefined) => void,
): LineSplitter {
  return new LineSplitter({
    maxBytes: maxMessageBytes,
    decode: decodeUtf8,
    join: (parts, length) => Buffer.concat(parts, length),
    onLine: (line) => {
      const value = parseText(line)
      if (!(value instanceof Fault)) {
        onStray?.(isMessage(value) ? undefined : line)
        transport.onmessage?.(value)
      } else if (line.trim() !== '') {
        onStray?.(line)
        transport.onfault?.(onStray ? withQuote(value, line) : value)
      }
    },
    onFault: (fault) => transport.onfault?.(fault),
  })
}

/** Log lines of a program may be JSON as well. */
function isMessage(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (Array.isArray(value) || 'jsonrpc' in value)
}

function withQuote(fault: Fault, line: string): Fault {
  return new Fault(fault.code, `${fault.message}: ${JSON.stringify(line.slice(0, 80))}`, fault.id, fault.meant)
}
