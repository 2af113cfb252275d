import type { Readable } from 'node:stream'
import { isObject } from 'tenon/internal'
import type { AuthInfo } from '../core/types.ts'
import type { McpHandlerRequestOptions } from '../server/create-mcp-handler.ts'
import { callHandlerOf, JsonReply, type Reply } from '../server/http-call.ts'
import { DEFAULT_MAX_REQUEST_BODY_SIZE } from '../server/request-body.ts'
import { NodeCall } from './node-call.ts'

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
  headersSent?: boolean
  writableEnded?: boolean
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
    const call = new NodeCall(req, ({ text, signal }) => createRequest(req, text, parsedBody, signal))
    let isFinished = false
    res.on('close', () => {
      if (!isFinished) call.gone()
    })
    if (res.destroyed) call.gone()
    const reply = await answer(handler, req, parsedBody, call, options)
    try {
      if (!(reply instanceof JsonReply)) await copy(reply, res, call.signal)
      isFinished = true
      if (reply instanceof JsonReply) endWithJson(res, reply)
      else if (!res.writableEnded) res.end()
    } catch (error) {
      // Most programs do not await this function, so that a rejection would end their process.
      isFinished = true
      report(error, options)
      if (!isAnswered(res)) endWithJson(res, new JsonReply(500, internalError(null)))
    }
  }
}

/** Whether the program has sent a response itself, for example because of a timeout. */
function isAnswered({ headersSent, writableEnded }: NodeServerResponseLike): boolean {
  return headersSent === true || writableEnded === true
}

function checkUnanswered(res: NodeServerResponseLike): void {
  if (isAnswered(res)) throw new Error('The response was sent before the handler finished. Its result is discarded.')
}

function endWithJson(res: NodeServerResponseLike, { status, text }: JsonReply): void {
  checkUnanswered(res)
  const length = String(Buffer.byteLength(text))
  res.writeHead(status, { 'content-type': 'application/json', 'content-length': length })
  res.end(text)
}

async function answer(
  handler: FetchLikeMcpHandler,
  req: NodeIncomingMessageLike,
  parsedBody: unknown,
  call: NodeCall,
  handlerOptions: ToNodeHandlerOptions,
): Promise<Reply> {
  const { maxRequestBodySize = DEFAULT_MAX_REQUEST_BODY_SIZE } = handlerOptions
  try {
    const options = {
      ...(req.auth !== undefined && { authInfo: req.auth }),
      ...(parsedBody !== undefined && { parsedBody }),
    }
    const handleCall = callHandlerOf<McpHandlerRequestOptions>(handler.fetch)
    if (!handleCall || call.method !== 'POST' || !isPlainUrl(urlOf(req))) {
      const request = await toWebRequest(req, parsedBody, { signal: call.signal, maxRequestBodySize })
      return await handler.fetch(request, options)
    }
    if (parsedBody === undefined) call.text = await readBody(req, maxRequestBodySize)
    return await handleCall(call, options)
  } catch (error) {
    if (error instanceof RequestBodyTooLargeError) return tooLarge(error)
    report(error, handlerOptions)
    const id = isObject(parsedBody) && typeof parsedBody.method === 'string' ? (parsedBody.id ?? null) : null
    return new JsonReply(500, internalError(id))
  }
}

function internalError(id: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', error: { code: -32603, message: 'Internal server error' }, id })
}

function report(error: unknown, { onerror }: ToNodeHandlerOptions): void {
  try {
    onerror?.(error instanceof Error ? error : new Error(String(error)))
  } catch {
    // Reporting must not change the response.
  }
}

/** Whether a `Request` can have this URL. Others are refused when it is created, also if no program reads it. */
function isPlainUrl(url: string): boolean {
  return URL.canParse(url) && !url.includes('@')
}

function tooLarge({ message }: RequestBodyTooLargeError): Response {
  return Response.json(
    { jsonrpc: '2.0', error: { code: -32000, message }, id: null },
    // The rest of the body stays unread, so the connection cannot be reused.
    { status: 413, headers: { connection: 'close' } },
  )
}

/** Copies a response at the speed of the reader, until the client is gone. */
async function copy(response: Response, res: NodeServerResponseLike, gone: AbortSignal): Promise<void> {
  try {
    checkUnanswered(res)
    res.writeHead(response.status, Object.fromEntries(response.headers))
  } catch (error) {
    response.body?.cancel().catch(() => {})
    throw error
  }
  if (response.body) await copyBody(response.body, res, gone)
}

async function copyBody(
  body: ReadableStream<Uint8Array>,
  res: NodeServerResponseLike,
  gone: AbortSignal,
): Promise<void> {
  let wake = () => {}
  res.on('drain', () => wake())
  const abort = () => wake()
  gone.addEventListener('abort', abort, { once: true })
  try {
    for await (const chunk of body) {
      if (gone.aborted || res.writableEnded) break
      const isFull = res.write(chunk) === false
      if (isFull && !gone.aborted) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    }
  } catch {
    // The stream failed after its headers were sent, so that ending the response is all that is left.
  } finally {
    gone.removeEventListener('abort', abort)
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
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const text = hasBody && parsedBody === undefined ? await readBody(req, maxRequestBodySize) : ''
  return createRequest(req, text, hasBody ? parsedBody : undefined, signal)
}

/** @param text The body, if it is not parsed. */
function createRequest(
  req: NodeIncomingMessageLike,
  text: string,
  parsedBody: unknown,
  signal: AbortSignal | undefined,
): Request {
  const headers = toHeaders(req.headers)
  const body = parsedBody === undefined ? text || undefined : writeParsed(parsedBody, headers)
  return new Request(urlOf(req), {
    method: (req.method ?? 'GET').toUpperCase(),
    headers,
    ...(signal && { signal }),
    ...(body !== undefined && { body }),
  })
}

function urlOf({ headers, url = '/' }: NodeIncomingMessageLike): string {
  const host = first(headers.host) ?? first(headers[':authority']) ?? 'localhost'
  return `http://${host}${url}`
}

/** Writes a parsed body as JSON again. The headers that describe the body change with it. */
function writeParsed(parsedBody: unknown, headers: Headers): string | undefined {
  const text = JSON.stringify(parsedBody) as string | undefined
  for (const name of ['content-encoding', 'transfer-encoding', 'content-length']) headers.delete(name)
  if (text !== undefined) headers.set('content-length', String(Buffer.byteLength(text)))
  return text
}

async function readBody(req: NodeIncomingMessageLike, maxBytes: number): Promise<string> {
  const length = Number(first(req.headers['content-length']))
  if (length > maxBytes) throw new RequestBodyTooLargeError(maxBytes)
  return length <= maxBytes && isUnread(req) ? readStream(req) : read(req, maxBytes)
}

/** Whether a stream of Node has all of its events ahead. */
function isUnread(req: object): req is Readable {
  const { on, readableEnded, destroyed, readableEncoding } = req as Partial<Readable>
  return typeof on === 'function' && readableEnded === false && destroyed === false && readableEncoding === null
}

/** Reads a body of known length. Its events cost much less than its iterator. */
function readStream(req: Readable): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => resolve(utf8.decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))))
    req.on('error', reject)
    req.on('close', () => {
      if (!req.readableEnded) reject(new Error('The client closed the connection before the body was complete'))
    })
  })
}

const utf8 = new TextDecoder()

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
