import type { ReadHeader, ResponseHead } from '../../net/send.ts'
import type { Tracer } from '../../protocol/trace.ts'

/** Provides the credentials for requests to one server. `oauth()`, `bearer()` and the others create one. */
export interface ClientAuth {
  /** Returns the headers to add to a request. Called for every request. */
  headers(request: AuthRequest): Record<string, string> | Promise<Record<string, string>>
  /**
   * Called when the server answers 401 or 403. Return true to send the request again, with new headers.
   * Rejects if authorization failed.
   */
  onUnauthorized(refusal: AuthRefusal): Promise<boolean>
  /** Called when the server accepts a request, for example to read a nonce for the next one. */
  onAccepted?(head: Pick<ResponseHead, 'header'>): void
  /** Set by a client with `trace`, if the member exists. Report requests to authorization servers to it. */
  tracer?: Tracer | undefined
}

/** A request that needs credentials. */
export interface AuthRequest {
  readonly method: string
  readonly url: URL
  /** The newest revision that the client offers. */
  readonly revision: string
}

/** A request that the server refused with 401 or 403. */
export interface AuthRefusal extends AuthRequest {
  readonly status: number
  /** Reads one header of the response by its name in lower case. */
  readonly header: ReadHeader
  /** The headers that were sent, with the credentials. */
  readonly sent: Readonly<Record<string, string>>
  /** How often this request was refused, including this time. */
  readonly count: number
}
