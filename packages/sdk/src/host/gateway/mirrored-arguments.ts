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
  required = caller.rules.mirrorsHeaders,
): void {
  if (!request) return
  const problem = mirroredArgumentsProblem(mirroredOf(inputSchema), args, request, required)
  // In sessions, the code that the draft of these headers used.
  if (problem !== undefined)
    throw new ProtocolError(caller.rules.mirrorsHeaders ? ErrorCode.HeaderMismatch : -32001, problem)
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
