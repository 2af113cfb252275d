import { isObject } from '../core/objects.ts'
import type { AuthInfo } from '../core/types.ts'
import type { McpHandlerRequestOptions } from '../server/create-mcp-handler.ts'
import { DEFAULT_MAX_REQUEST_BODY_SIZE } from '../server/request-body.ts'

/** The members of `IncomingMessage` that are used. */
export interface NodeIncomingMessageLike extends AsyncIterable<unknown> {
  method?: string
  url?: string
  headers: Record<string, string | string[] | undefined>
  /** The identity that middleware left on the request. */
  auth?: AuthInfo
}

/** The members of `ServerResponse` that are used. */
export interface NodeServerResponseLike {
  writeHead(statusCode: number, headers?: Record<string, string>): unknown
  write(chunk: string | Uint8Array): unknown
  end(chunk?: string | Uint8Array): unknown
  on(event: string, listener: (...args: unknown[]) => void): unknown
  destroyed?: boolean
}

export interface FetchLikeMcpHandler {
  fetch: (request: Request, options?: McpHandlerRequestOptions) => Promise<Response>
}

export type NodeMcpRequestHandler = (
  req: NodeIncomingMessageLike,
  res: NodeServerResponseLike,
  parsedBody?: unknown,
) => Promise<void>

export interface ToNodeHandlerOptions {
  onerror?: (error: Error) => void
  /** The largest request body, in bytes. Default 4 MiB. */
  maxRequestBodySize?: number
}

export interface ToWebRequestOptions {
  signal?: AbortSignal
  /** The largest request body, in bytes. Default 4 MiB. */
  maxRequestBodySize?: number
}

/** A body is longer than `maxRequestBodySize`. */
class RequestBodyTooLargeError extends Error {
  override readonly name = 'RequestBodyTooLargeError'
  readonly status = 413

  constructor(maxBytes: number) {
    super(`Payload Too Large: Request body must not exceed ${maxBytes} bytes`)
  }
}

/** Lets `node:http` and Express call a web-standard handler. */
export function toNodeHandler(handler: FetchLikeMcpHandler, options: ToNodeHandlerOptions = {}): NodeMcpRequestHandler {
  checkMaxBytes(options.maxRequestBodySize)
  return async (req, res, given) => {
    // Express passes `next` as the third argument.
    const parsedBody = typeof given === 'function' ? undefined : given
    const gone = new AbortController()
    let isFinished = false
    res.on('close', () => {
      if (!isFinished) gone.abort()
    })
    if (res.destroyed) gone.abort()
    const response = await answer(handler, req, parsedBody, gone.signal, options)
    res.writeHead(response.status, Object.fromEntries(response.headers))
    if (response.body) await copy(response.body, res, gone.signal)
    isFinished = true
    res.end()
  }
}

async function answer(
  handler: FetchLikeMcpHandler,
  req: NodeIncomingMessageLike,
  parsedBody: unknown,
  signal: AbortSignal,
  { onerror, maxRequestBodySize = DEFAULT_MAX_REQUEST_BODY_SIZE }: ToNodeHandlerOptions,
): Promise<Response> {
  try {
    const request = await toWebRequest(req, parsedBody, { signal, maxRequestBodySize })
    return await handler.fetch(request, {
      ...(req.auth !== undefined && { authInfo: req.auth }),
      ...(parsedBody !== undefined && { parsedBody }),
    })
  } catch (error) {
    if (error instanceof RequestBodyTooLargeError) return tooLarge(error)
    try {
      onerror?.(error instanceof Error ? error : new Error(String(error)))
    } catch {
      // Reporting must not change the response.
    }
    const id = isObject(parsedBody) && typeof parsedBody.method === 'string' ? (parsedBody.id ?? null) : null
    return Response.json(
      { jsonrpc: '2.0', error: { code: -32603, message: 'Internal server error' }, id },
      { status: 500 },
    )
  }
}

function tooLarge({ message }: RequestBodyTooLargeError): Response {
  return Response.json(
    { jsonrpc: '2.0', error: { code: -32000, message }, id: null },
    // The rest of the body stays unread, so the connection cannot be reused.
    { status: 413, headers: { connection: 'close' } },
  )
}

/** Copies a body at the speed of the reader, until the client is gone. */
async function copy(body: ReadableStream<Uint8Array>, res: NodeServerResponseLike, gone: AbortSignal): Promise<void> {
  let wake = () => {}
  res.on('drain', () => wake())
  gone.addEventListener('abort', () => wake(), { once: true })
  try {
    for await (const chunk of body) {
      if (gone.aborted) break
      const isFull = res.write(chunk) === false
      if (isFull && !gone.aborted) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    }
  } catch {
    // The stream failed after its headers were sent, so that ending the response is all that is left.
  }
}

/** Converts a request of `node:http`. A parsed body is written as JSON again. Rejects if the body is too long. */
export async function toWebRequest(
  req: NodeIncomingMessageLike,
  parsedBody?: unknown,
  { signal, maxRequestBodySize = DEFAULT_MAX_REQUEST_BODY_SIZE }: ToWebRequestOptions = {},
): Promise<Request> {
  checkMaxBytes(maxRequestBodySize)
  const method = (req.method ?? 'GET').toUpperCase()
  const headers = toHeaders(req.headers)
  const host = headers.get('host') ?? first(req.headers[':authority']) ?? 'localhost'
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const body = hasBody ? await bodyOf(req, parsedBody, headers, maxRequestBodySize) : undefined
  return new Request(`http://${host}${req.url ?? '/'}`, {
    method,
    headers,
    ...(signal && { signal }),
    ...(body !== undefined && { body }),
  })
}

async function bodyOf(
  req: NodeIncomingMessageLike,
  parsedBody: unknown,
  headers: Headers,
  maxBytes: number,
): Promise<string | undefined> {
  if (parsedBody === undefined) {
    if (Number(headers.get('content-length')) > maxBytes) throw new RequestBodyTooLargeError(maxBytes)
    return (await read(req, maxBytes)) || undefined
  }
  const text = JSON.stringify(parsedBody) as string | undefined
  for (const name of ['content-encoding', 'transfer-encoding', 'content-length']) headers.delete(name)
  if (text !== undefined) headers.set('content-length', String(new TextEncoder().encode(text).byteLength))
  return text
}

async function read(req: NodeIncomingMessageLike, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder()
  let size = 0
  let text = ''
  for await (const chunk of req) {
    size += Buffer.byteLength(chunk as string | Uint8Array)
    if (size > maxBytes) throw new RequestBodyTooLargeError(maxBytes)
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk as Uint8Array, { stream: true })
  }
  return text + decoder.decode()
}

function checkMaxBytes(value: number | undefined): void {
  if (value === undefined || (Number.isFinite(value) && value > 0)) return
  throw new RangeError(`maxRequestBodySize must be a positive number of bytes, got ${String(value)}`)
}

function toHeaders(fields: NodeIncomingMessageLike['headers']): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || name.startsWith(':')) continue
    for (const each of Array.isArray(value) ? value : [value]) headers.append(name, each)
  }
  return headers
}

function first(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
