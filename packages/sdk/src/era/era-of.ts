import type { RpcRequest } from '../jsonrpc/message.ts'
import { metaKeys } from '../protocol/meta.ts'
import type { EraName } from '../protocol/revision.ts'
import { isObject } from '../util/objects.ts'

/** A request that describes its caller itself belongs to the stateless era, whatever came before it on the link. */
export function eraOf(request: RpcRequest, known?: EraName): EraName {
  // On HTTP the headers have a say, and it was decided there.
  if (known) return known
  // Only the handshake era has it, whatever else the request says.
  if (request.method === 'initialize') return 'handshake'
  const meta = request.params?._meta
  if (!isObject(meta)) return 'handshake'
  const isModern = meta[metaKeys.protocolVersion] !== undefined || meta[metaKeys.clientCapabilities] !== undefined
  return isModern ? 'stateless' : 'handshake'
}
