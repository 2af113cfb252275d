import { LineSplitter } from '../../jsonrpc/lines.ts'
import { Fault } from '../../jsonrpc/message.ts'
import { parseText } from '../../jsonrpc/parse.ts'
import type { Transport } from '../../jsonrpc/transport.ts'
import { decodeUtf8 } from '../../util/bytes.ts'

/** Room for the largest message anyone sends on purpose; more than this is refused, not buffered. */
export const defaultMaxMessageBytes = 16 * 1024 * 1024

/**
 * Bytes from a pipe to messages for a transport's handlers.
 * @param quotes Show the beginning of a line that is no message: a server may have printed something by mistake.
 */
export function createReader(transport: Transport, maxMessageBytes: number, quotes = false): LineSplitter {
  return new LineSplitter({
    maxBytes: maxMessageBytes,
    decode: decodeUtf8,
    join: (parts, length) => Buffer.concat(parts, length),
    onLine: (line) => {
      const value = parseText(line)
      if (!(value instanceof Fault)) transport.onmessage?.(value)
      else if (line.trim() !== '') transport.onfault?.(quotes ? withQuote(value, line) : value)
    },
    onFault: (fault) => transport.onfault?.(fault),
  })
}

function withQuote(fault: Fault, line: string): Fault {
  return new Fault(fault.code, `${fault.message}: ${JSON.stringify(line.slice(0, 80))}`, fault.id, fault.meant)
}
