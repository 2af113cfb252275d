// The port between `auth/` and the code that serves HTTP: requests come in as plain objects, and responses go out as values.

/** The part of an HTTP request that authorization looks at before the body is read. */
export interface RequestHead {
  readonly method: string
  /** Includes the query. The host in it is not trusted. */
  readonly url: string
  /** @param name In lower case. */
  header(name: string): string | undefined
}

/** A request to an endpoint of an authorization server, with its body. */
export interface EndpointRequest extends RequestHead {
  /** Empty if the request has no body. */
  readonly body: string
  /** The address of the client, if known. */
  readonly peer?: string | undefined
  /** The response object of the runtime, for providers that write to it themselves. */
  readonly response?: unknown
}

/** The response of an endpoint. */
export interface EndpointResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A refused request. The HTTP server wraps it in the error format of its protocol. */
export interface EndpointError {
  readonly status: 400 | 401 | 403 | 405 | 503
  readonly message: string
  readonly headers: Readonly<Record<string, string>>
  /** Machine-readable details. */
  readonly data?: unknown
}

/** Endpoints that an HTTP server serves without asking for a token. */
export interface AuthRoutes {
  /** @param path Without the query. */
  handles(path: string): boolean
  /** Resolves to undefined if the response has already been sent. */
  respond(call: EndpointRequest): Promise<EndpointResponse | undefined>
}

/** Documents that an HTTP server serves to everyone. */
export interface PublicDocuments {
  /** @param path Without the query. */
  handles(path: string): boolean
  respond(request: RequestHead): EndpointResponse | EndpointError
}

/** Builds a JSON response that must not be cached. */
export function jsonResponse(
  body: object,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): EndpointResponse {
  return {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
    body: JSON.stringify(body),
  }
}

/** Redirects with 303, so that a posted form is not sent on to the target (RFC 9700, 4.12). */
export function redirectResponse(location: string, headers: Readonly<Record<string, string>> = {}): EndpointResponse {
  const own = { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }
  return { status: 303, headers: { ...own, ...headers }, body: '' }
}

/** Returns the path prefix of the endpoints; empty if they are at the root. */
export function basePathOf(baseUrl: string): string {
  return new URL(baseUrl).pathname.replace(/\/$/, '')
}

/** Returns the path of a request. Node gives a URL without the host, `fetch` a complete one. */
export function pathOf({ url }: Pick<RequestHead, 'url'>): string {
  return url.replace(/^https?:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '')
}
