import type { CloseDetail, RequestId, RpcMessage, RpcRequest } from 'tenon'
import { errorResponse, subjectOf } from './messages.ts'

/** Why there is no process that could answer. */
export interface Failure {
  /** One sentence, such as `server.ts exited with code 1.` */
  readonly what: string
  /** The last lines of its stderr. */
  readonly stderr: readonly string[]
  /** The next request starts it again. Otherwise only a change does: it would fail again. */
  readonly isRetried: boolean
}

/** Describes the exit of a server. */
export function describeExit(label: string, exit: CloseDetail, isRetried: boolean): Failure {
  const how = exit.signal ? `was ended by ${exit.signal}` : `exited with code ${exit.exitCode ?? 'unknown'}`
  const printed = exit.stderr?.trim() || exit.stdout?.trim() || ''
  return { what: `${label} ${how}.`, stderr: lastLines(printed), isRetried }
}

/** The response to a request that no process can answer. */
export function failureResponse(id: RequestId, { what, stderr, isRetried }: Failure): RpcMessage {
  const wayOut = isRetried ? 'The next request starts it again.' : 'Save a fix to start it again.'
  const message = [`${what} ${wayOut}`, ...stderr].join('\n')
  return errorResponse(id, message, { stderr })
}

/** The response to a request whose process was stopped before it answered, and that cannot be repeated. */
export function interruptedResponse(request: RpcRequest, cause: string): RpcMessage {
  const name = [request.method, subjectOf(request)].filter(Boolean).join(' ')
  const message = `The server restarted while ${name} was running, because ${cause}. Send the request again.`
  return errorResponse(request.id, message)
}

const maxLines = 12

/** Leaves out stack frames of Node.js and of packages, which would take the place of the message. */
function lastLines(text: string): string[] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !foreignFrame.test(line))
  return lines.slice(-maxLines)
}

const foreignFrame = /^\s+at .*(node:|[/\\]node_modules[/\\]|<anonymous>)|^Node\.js v\d/
