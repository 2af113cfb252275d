import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { OAuthError } from '../../auth/server/oauth-error.ts'
import { isForm, Params } from '../../auth/server/params.ts'

/** One request with its whole body. */
export interface Call {
  readonly method: string
  /** Path and query, unchanged. */
  readonly url: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** Returns all values of a header, some of which Node would join or drop. */
  headerValues(name: string): string[]
  /** From the query of a GET, or the form of a POST. */
  readonly params: Params
  readonly body: string
}

export async function readCall(request: IncomingMessage): Promise<Call> {
  const url = request.url ?? '/'
  const [path = '/', query = ''] = split(url, '?')
  const body = await readBody(request)
  const form = isForm(request.headers['content-type']) ? body : ''
  return {
    method: request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET'),
    url,
    path,
    headers: request.headers,
    headerValues: (name) => request.headersDistinct[name] ?? [],
    params: new Params(new URLSearchParams(request.method === 'POST' ? form : query)),
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
      throw new OAuthError('invalid_request', 'The body is too large', 413, { connection: 'close' })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function split(text: string, at: string): [string, string] {
  const place = text.indexOf(at)
  return place === -1 ? [text, ''] : [text.slice(0, place), text.slice(place + 1)]
}
