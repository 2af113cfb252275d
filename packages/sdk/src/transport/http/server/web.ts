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

/** What a layer in front of us found out about a request. */
export interface FetchExtras {
  /** The identity of an authenticated caller. */
  auth?: unknown
  /** The parsed body, if it has been read already. */
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

/** Adapts web-standard `Request` and `Response` to `HttpCall`, for every runtime that has them. */
export class WebCall implements HttpCall {
  readonly method: string
  readonly request: CallRequest
  /** Frameworks based on `fetch` add their headers to the response later. */
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
      done(new Refusal(400, -32700, 'The body is incomplete')),
    )
  }

  reply(status: number, headers: HeaderFields, text: string | Uint8Array = ''): void {
    const { connection: _hop, ...fields } = headers
    const hasBody = status !== 204 && text !== ''
    this.#resolve(new Response(hasBody ? text : null, { status, headers: fields }))
  }

  stream(headers: HeaderFields): EventSink {
    const sink = new WebSink(() => this.#onClose?.(), this.#limits?.unsentOutputs)
    this.#resolve(new Response(sink.readable, { status: 200, headers: { ...headers } }))
    return sink
  }

  /** Only streams are limited: the runtime takes a plain response as a whole. */
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

  /** Some `fetch` runtimes hide the `Host` header, but the URL contains it. */
  header(name: string): string | undefined {
    const value = this.#request.headers.get(name)
    if (value === null && name === 'host') return new URL(this.#request.url).host
    return value ?? undefined
  }

  get headers(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#request.headers.entries())
  }
}

/** Unread bytes above which `drained` waits. */
const highWaterMark = 65_536

class WebSink implements EventSink, UnsentOutput {
  readonly readable: ReadableStream<Uint8Array>
  readonly #encoder = new TextEncoder()
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #onTaken: (() => void) | undefined
  readonly #onCancel: () => void
  readonly #outputs: UnsentOutputs | undefined
  #isOpen = true
  /** How often the reader requested more. */
  #pulls = 1

  constructor(onCancel: () => void, outputs: UnsentOutputs | undefined) {
    this.#onCancel = onCancel
    this.#outputs = outputs
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
    if (this.waiting > 0) this.#outputs?.add(this, bytes.length)
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
    this.#controller.error(new Error('The connection was closed'))
    // The runtime reports no end that we caused ourselves.
    this.#onCancel()
  }

  #close(): void {
    this.#isOpen = false
    this.#outputs?.delete(this)
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

/** @param onProgress Called with the number of bytes after every chunk. It may cancel the reader, which ends the body. */
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
