/** One request to an authorization server, read to its end. */
export interface AuthCall {
  readonly method: string
  /** With the query. The host in it decides nothing. */
  readonly url: string
  /** By its name in lower case. */
  header(name: string): string | undefined
  /** Empty where there is none. */
  readonly body: string
  /** The address at the other end, where it is known. */
  readonly peer?: string | undefined
  /** What the runtime answers with, for providers that write to it themselves. */
  readonly response?: unknown
}

export interface AuthReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Endpoints that an HTTP server answers besides its own, before any token is asked for. */
export interface AuthRoutes {
  /** @param path Without the query. */
  handles(path: string): boolean
  /** Undefined when it has been answered already. */
  answer(call: AuthCall): Promise<AuthReply | undefined>
}

export function json(body: object, status = 200, headers: Readonly<Record<string, string>> = {}): AuthReply {
  return {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
    body: JSON.stringify(body),
  }
}

/** 303, so that a form that was sent to us is not sent on (RFC 9700, 4.12). */
export function redirectTo(location: string, headers: Readonly<Record<string, string>> = {}): AuthReply {
  const own = { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }
  return { status: 303, headers: { ...own, ...headers }, body: '' }
}

/** What the paths of endpoints begin with; nothing where they are at the root. */
export function basePathOf(baseUrl: string): string {
  return new URL(baseUrl).pathname.replace(/\/$/, '')
}

/** The path of a URL, which may have come without its host. */
export function pathOf({ url }: Pick<AuthCall, 'url'>): string {
  return url.replace(/^https?:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '')
}
