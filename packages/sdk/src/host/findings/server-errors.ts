import {
  AuthError,
  ClosedError,
  HttpError,
  McpError,
  type McpErrorCode,
  PeerError,
  RevisionError,
} from '../../errors.ts'

/** Errors that are found locally, but quote the server, and what remains of one that is withheld. */
const quoting: Partial<Record<McpErrorCode, string>> = {
  http: 'The HTTP request failed',
  auth: 'Authorization failed',
  closed: 'The connection is closed',
  'invalid-response': 'The server sent an invalid response',
  'invalid-output': 'The result is not what the tool promises',
  'no-common-revision': 'There is no common protocol revision',
}

/**
 * Makes an error that quotes its server safe to hand on. Nobody is asked about the text of such errors, because a call that failed
 * cannot be kept until there is an answer. The class and the code stay the same, because callers go by them.
 *
 * @param clean Replaces secrets in an object. Returns a text such as `[withheld: instructions]` instead of a suspicious one.
 */
export function cleanServerError(error: unknown, clean: (texts: unknown) => unknown): unknown {
  if (!(error instanceof McpError)) return error
  const what = quoting[error.code]
  return what === undefined ? error : cleaned(error, what, clean)
}

/** The same for a connection that could not be opened: there is no call whose result an error of the server could be. */
export function cleanConnectError(error: unknown, clean: (texts: unknown) => unknown): unknown {
  return error instanceof PeerError ? cleaned(error, 'The server sent an error', clean) : cleanServerError(error, clean)
}

interface Texts {
  readonly message: string
  readonly [name: string]: unknown
}

function cleaned(error: McpError, what: string, clean: (texts: unknown) => unknown): McpError {
  const texts = textsOf(error)
  const safe = clean(texts)
  if (typeof safe !== 'object') return copyOf(error, { message: `${whatHappened(error, what)} ${safe}` })
  return JSON.stringify(safe) === JSON.stringify(texts) ? error : copyOf(error, safe as Texts)
}

function whatHappened(error: McpError, what: string): string {
  const status = error instanceof HttpError ? error.status : undefined
  return status === undefined ? what : `The server answered with HTTP ${status}`
}

function textsOf(error: McpError): Texts {
  const { message } = error
  if (error instanceof HttpError) {
    const { body, statusText, contentType } = error
    return { message, body, statusText, contentType }
  }
  if (error instanceof ClosedError) return { message, ...error.detail }
  if (error instanceof RevisionError) return { message, offered: error.offered }
  return error instanceof PeerError ? { message, data: error.data } : { message }
}

/** Without the cause, which may quote the server as well. */
function copyOf(error: McpError, { message, ...texts }: Texts): McpError {
  if (error instanceof HttpError) {
    const { status, method, outcome } = error
    return new HttpError(message, { ...texts, status, method, outcome })
  }
  if (error instanceof ClosedError) {
    const { sessionLost, exitCode, signal } = error.detail ?? {}
    return new ClosedError(message, error.detail && { ...texts, sessionLost, exitCode, signal })
  }
  if (error instanceof RevisionError) return new RevisionError(message, String(texts.offered ?? ''))
  if (error instanceof AuthError) return new AuthError(message, { toString: () => message })
  if (error instanceof PeerError) return new PeerError(error.rpcCode, message, texts.data)
  return new McpError(error.code, message)
}
