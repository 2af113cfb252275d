import type { RpcRequest } from '../jsonrpc/message.ts'
import { metaKeys } from '../protocol/meta.ts'
import type { EraName } from '../protocol/revision.ts'
import { isObject } from '../util/objects.ts'

/**
 * The era of a request. A request that describes its caller in `_meta` is stateless, whatever came before it on the link.
 * @param known Set on HTTP, where headers take part in the decision.
 */
export function eraOf(request: RpcRequest, known?: EraName): EraName {
  if (known) return known
  // Only the handshake era has this method, whatever `_meta` contains.
  if (request.method === 'initialize') return 'handshake'
  const meta = request.params?._meta
  if (!isObject(meta)) return 'handshake'
  const describesCaller =
    meta[metaKeys.protocolVersion] !== undefined || meta[metaKeys.clientCapabilities] !== undefined
  return describesCaller ? 'stateless' : 'handshake'
}
