import type { ReadHeader } from './call.ts'

/** What gives requests to one server their credentials. */
export interface ClientAuth {
  /** Headers for one request; asked each time. */
  headers(request: AuthRequest): Record<string, string> | Promise<Record<string, string>>
  /**
   * The server refused a request (401 or 403). True: something changed, and it is worth making again. Rejects when there is
   * no way to permission.
   */
  refused(refusal: AuthRefusal): Promise<boolean>
  /** The server took a request; it may have said something about the next. */
  taken?(header: ReadHeader): void
}

export interface AuthRequest {
  readonly method: string
  readonly url: URL
  /** The newest revision that the connection would speak. */
  readonly revision: string
}

export interface AuthRefusal extends AuthRequest {
  readonly status: number
  readonly header: ReadHeader
  /** What the request carried. */
  readonly sent: Readonly<Record<string, string>>
  /** How often this request was refused, this time included. */
  readonly count: number
}
