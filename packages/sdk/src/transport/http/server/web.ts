import type { AuthInfo } from '../../../protocol/auth-info.ts'
import { ByteCollector } from '../../../util/bytes.ts'
import {
  type Body,
  type BodyLimits,
  type CallRequest,
  decodeBody,
  type EventSink,
  type HeaderFields,
  type HttpCall,
  type OutputLimits,
  Refusal,
  toBody,
  tooLarge,
  tooManyBodies,
  tooSlow,
} from './call.ts'
import { countedFromBytes, type IncomingBody } from './incoming-bodies.ts'
import type { UnsentOutput, UnsentOutputs } from './unsent-output.ts'

/** What a caller that has authenticated or parsed the request already can hand in with it. */
export interface FetchExtras {
  auth?: unknown
  /** The body as a value, when it has been read. */
  parsedBody?: unknown
}

/**
 * The second argument that frameworks pass to a route handler: `{ params }` of Next.js, the connection info of Deno, the
 * server of Bun. Naming it here lets `export const POST = handler.fetch` type-check.
 */
export interface FrameworkContext {
  readonly params?: unknown
  readonly remoteAddr?: unknown
  readonly requestIP?: unknown
}

/** The rim on web-standard `Request` and `Response`, for every runtime that has them. */
export class WebCall implements HttpCall {
  readonly method: string
  readonly request: CallRequest
  /** Frameworks on `fetch` add their headers to the response afterwards. */
  readonly allowedOrigin = undefined
  readonly exposesHeaders = false
  readonly response: Promise<Response>
  readonly #request: Request
  readonly #extras: FetchExtras
  #resolve!: (response: Response) => void
  #onClose: (() => void) | undefined
  #limits: OutputLimits | undefined

  constructor(request: Request, extras: FetchExtras = {}) {
    this.method = request.method
    this.request = new WebRequestFacts(request, extras.auth)
    this.#request = request
    this.#extras = extras
    this.response = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  body(limits: BodyLimits, done: (body: Body | Refusal) => void): void {
    if (this.#extras.parsedBody !== undefined)
      return done(toBody(this.#extras.parsedBody, undefined, limits.maxBodyBytes))
    readText({ request: this.#request, peer: this.request.peer }, limits).then(done, () =>
      done(new Refusal(400, -32700, 'The body was cut off')),
    )
  }

  reply(status: number, headers: HeaderFields, text: string | Uint8Array = ''): void {
    const { connection: _hop, ...fields } = headers
    const hasBody = status !== 204 && text !== ''
    this.#resolve(new Response(hasBody ? text : null, { status, headers: fields }))
  }

  stream(headers: HeaderFields): EventSink {
    const sink = new WebSink(() => this.#onClose?.(), this.#limits?.backlogs)
    this.#resolve(new Response(sink.readable, { status: 200, headers: { ...headers } }))
    return sink
  }

  /** A plain answer is handed to the runtime whole; what a stream holds back is ours. */
  limitOutput(limits: OutputLimits): void {
    this.#limits = limits
  }

  onClose(listener: () => void): void {
    this.#onClose = listener
    if (this.#request.signal.aborted) listener()
    else this.#request.signal.addEventListener('abort', listener, { once: true })
  }
}

class WebRequestFacts implements CallRequest {
  readonly #request: Request
  readonly auth: AuthInfo | undefined
  peer: string | undefined
  readonly truncated = false
  principal: string | undefined

  constructor(request: Request, auth: unknown) {
    this.#request = request
    this.auth = auth as AuthInfo | undefined
  }

  get url(): string {
    return this.#request.url
  }

  /** `fetch` servers do not show the `Host` header everywhere; the URL was made from it. */
  header(name: string): string | undefined {
    const value = this.#request.headers.get(name)
    if (value === null && name === 'host') return new URL(this.#request.url).host
    return value ?? undefined
  }

  get headers(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#request.headers.entries())
  }
}

/** Bytes that may wait before a writer who can wait does. */
const highWaterMark = 65_536

class WebSink implements EventSink, UnsentOutput {
  readonly readable: ReadableStream<Uint8Array>
  readonly #encoder = new TextEncoder()
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #onTaken: (() => void) | undefined
  readonly #onCancel: () => void
  readonly #backlogs: UnsentOutputs | undefined
  #isOpen = true
  /** How often the reader asked for more. */
  #pulls = 1

  constructor(onCancel: () => void, backlogs: UnsentOutputs | undefined) {
    this.#onCancel = onCancel
    this.#backlogs = backlogs
    const strategy = { highWaterMark, size: (chunk: Uint8Array | undefined) => chunk?.byteLength ?? 0 }
    this.readable = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: () => {
          this.#pulls++
          this.#onTaken?.()
        },
        cancel: () => {
          this.#close()
          this.#onTaken?.()
          onCancel()
        },
      },
      strategy,
    )
  }

  write(text: string): void {
    if (!this.#isOpen) return
    const bytes = this.#encoder.encode(text)
    this.#controller.enqueue(bytes)
    if (this.waiting > 0) this.#backlogs?.add(this, bytes.length)
  }

  readonly peer = undefined

  get unsentBytes(): number {
    return this.waiting
  }

  get inFlight(): number {
    return this.#pulls
  }

  get waiting(): number {
    return this.#isOpen ? Math.max(0, -(this.#controller.desiredSize ?? 0)) : 0
  }

  drained(): Promise<void> | undefined {
    if (this.waiting <= highWaterMark) return undefined
    return new Promise((resolve) => {
      this.#onTaken = () => {
        this.#onTaken = undefined
        resolve()
      }
    })
  }

  end(): void {
    if (!this.#isOpen) return
    this.#close()
    this.#controller.close()
  }

  destroy(): void {
    if (!this.#isOpen) return
    this.#close()
    this.#controller.error(new Error('The connection was cut'))
    // The runtime does not tell of an end that we made, so whoever wrote to the stream is told here.
    this.#onCancel()
  }

  #close(): void {
    this.#isOpen = false
    this.#backlogs?.delete(this)
  }
}

interface IncomingRequest {
  readonly request: Request
  readonly peer: string | undefined
}

async function readText({ request, peer }: IncomingRequest, limits: BodyLimits): Promise<string | Refusal> {
  const { maxBodyBytes, bodyTimeoutMs, deadlines } = limits
  if (Number(request.headers.get('content-length') ?? 0) > maxBodyBytes) return tooLarge(maxBodyBytes)
  if (!request.body) return ''
  const reader: ReadableStreamDefaultReader<Uint8Array> = request.body.getReader()
  let refusal: Refusal | undefined
  const stop = (reason: Refusal) => {
    refusal = reason
    void reader.cancel().catch(() => {})
  }
  const late = () => stop(tooSlow(bodyTimeoutMs))
  const body: IncomingBody = { peer, refuse: () => stop(tooManyBodies()) }
  deadlines?.add(late)
  try {
    const bytes = await readAll(reader, (length) => {
      if (length > maxBodyBytes) stop(tooLarge(maxBodyBytes))
      else if (length > countedFromBytes) limits.incoming?.update(body, length)
    })
    return refusal ?? decodeBody(bytes)
  } finally {
    deadlines?.delete(late)
    limits.incoming?.delete(body)
  }
}

/** @param onProgress Told how many bytes there are, with every piece. It may cancel the reader, which ends the body. */
async function readAll(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  onProgress: (length: number) => void,
): Promise<Uint8Array> {
  const collected = new ByteCollector()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return collected.take()
    collected.push(value)
    onProgress(collected.length)
  }
}
