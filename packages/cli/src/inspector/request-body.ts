import type { IncomingMessage } from 'node:http'

/** A request that the API does not accept. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** A form may contain files as base64. */
const maxBytes = 32 * 1024 * 1024

/**
 * Reads the JSON body of a request; undefined if it has none. Forms of other web pages cannot send this content type.
 * @throws ApiError
 */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const bytes = await readBytes(request)
  if (bytes.length === 0) return undefined
  const [type = ''] = (request.headers['content-type'] ?? '').split(';')
  if (type.trim().toLowerCase() !== 'application/json')
    throw new ApiError(415, 'content-type', 'The body must be JSON: set Content-Type to application/json.')
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    throw new ApiError(400, 'json', 'The body is not valid JSON.')
  }
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  // The connection must stay open for the response.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    length += chunk.length
    if (length > maxBytes) throw new ApiError(413, 'too-large', `The body is larger than ${maxBytes} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
