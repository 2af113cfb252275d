import { ErrorCode, ProtocolError } from '../../errors.ts'
import {
  findMirroredArguments,
  type MirroredArgument,
  mirroredArgumentsProblem,
} from '../../protocol/mirrored-headers.ts'
import { headerAnnotationProblem } from '../../protocol/x-mcp-header.ts'
import type { Context } from '../../server/context.ts'
import type { HostTool } from '../catalog.ts'

/** Throws if a header that repeats an argument does not match it. Proxies in front of the gateway may have trusted the header. */
export function checkMirroredArguments(
  { inputSchema }: HostTool,
  args: Readonly<Record<string, unknown>>,
  { request, caller }: Context,
): void {
  if (!request || !caller.rules.mirrorsHeaders) return
  const problem = mirroredArgumentsProblem(mirroredOf(inputSchema), args, request)
  if (problem !== undefined) throw new ProtocolError(ErrorCode.HeaderMismatch, problem)
}

const known = new WeakMap<object, readonly MirroredArgument[]>()

/** Callers leave out tools whose annotations are not valid, so these have no headers. */
function mirroredOf(inputSchema: object): readonly MirroredArgument[] {
  let mirrored = known.get(inputSchema)
  if (!mirrored) {
    mirrored = headerAnnotationProblem(inputSchema) === undefined ? findMirroredArguments(inputSchema) : []
    known.set(inputSchema, mirrored)
  }
  return mirrored
}
