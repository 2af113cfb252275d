/** The port to "make one HTTP request": `client-node.ts` and `client-web.ts` are the two ways to do it. */
export interface HttpPort {
  /** Returns the way to give it up, after which nothing more is told. */
  call(call: OutgoingCall, answer: Answer): () => void
  /** The text of a body. Throws when it is not UTF-8. */
  decode(bytes: Uint8Array): string
  /** Lets go of idle connections. */
  close(): void
}

export interface OutgoingCall {
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly url: URL
  /** Names in lower case. */
  readonly headers: Record<string, string>
  readonly body: string | undefined
}

/** Reads one header by its name in lower case. */
export type ReadHeader = (name: string) => string | undefined

/** Takes the answer to one request: `head`, any number of `data`, then `end`; or `failed` at any point. */
export interface Answer {
  /** @param isReused True when the request was sent on a connection that had carried another one before. */
  head(status: number, header: ReadHeader, isReused: boolean): void
  data(chunk: Uint8Array): void
  end(): void
  /** @param reached False when the server was certainly not reached, so that nothing was sent. */
  failed(cause: unknown, reached: boolean): void
}

/** Failures of connecting, which come before anything is sent. A name that does not exist will not do so soon. */
const connectFailures: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** Whether a request that failed with this error was certainly not sent. */
export function isConnectFailure(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { code, syscall, cause } = error as { code?: unknown; syscall?: unknown; cause?: unknown }
  if (connectFailures.has(code)) return true
  return code === 'ETIMEDOUT' ? syscall === 'connect' : isConnectFailure(cause)
}
