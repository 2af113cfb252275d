import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

/** One request, read to its end. */
export interface Call {
  readonly method: string
  /** Path and query, as they came. */
  readonly url: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** All values of a header, where Node's own view would join or drop some. */
  headerValues(name: string): string[]
  /** From the query of a GET, or the form of a POST. */
  readonly params: Params
  readonly body: string
}

export interface Reply {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string
}

/** The parameters of a request. RFC 6749 section 3.1: an empty one counts as absent, a repeated one is an error. */
export class Params {
  readonly #search: URLSearchParams

  constructor(search: URLSearchParams) {
    this.#search = search
  }

  get(name: string): string | undefined {
    const values = this.all(name)
    if (values.length > 1) throw new Refusal('invalid_request', `${name} was sent more than once`)
    return values[0]
  }

  need(name: string): string {
    const value = this.get(name)
    if (value === undefined) throw new Refusal('invalid_request', `${name} is missing`)
    return value
  }

  all(name: string): string[] {
    return this.#search.getAll(name).filter((value) => value !== '')
  }

  /** For people who look at it; of several values the last. */
  toRecord(): Record<string, string> {
    return Object.fromEntries(this.#search)
  }
}

/** An answer by which OAuth says no. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly error: string
  readonly status: number
  readonly headers: Record<string, string>

  constructor(error: string, description: string, status = 400, headers: Record<string, string> = {}) {
    super(description)
    this.error = error
    this.status = status
    this.headers = headers
  }

  toReply(): Reply {
    return json({ error: this.error, error_description: this.message }, this.status, this.headers)
  }
}

export function json(body: object, status = 200, headers: Record<string, string> = {}): Reply {
  return {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
    body: JSON.stringify(body),
  }
}

export async function readCall(request: IncomingMessage): Promise<Call> {
  const url = request.url ?? '/'
  const [path = '/', query = ''] = split(url, '?')
  const body = await readBody(request)
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(request.headers['content-type'] ?? '')
  return {
    method: request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET'),
    url,
    path,
    headers: request.headers,
    headerValues: (name) => request.headersDistinct[name] ?? [],
    params: new Params(new URLSearchParams(request.method === 'POST' ? (isForm ? body : '') : query)),
    body,
  }
}

const maxBodyBytes = 1_048_576

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxBodyBytes)
      throw new Refusal('invalid_request', 'The body is too large', 413, { connection: 'close' })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function split(text: string, at: string): [string, string] {
  const place = text.indexOf(at)
  return place === -1 ? [text, ''] : [text.slice(0, place), text.slice(place + 1)]
}
