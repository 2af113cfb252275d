import {
  type Body,
  type BodyLimits,
  type CallRequest,
  type EventSink,
  type HeaderFields,
  type HttpCall,
  notUtf8,
  tooLarge,
  tooSlow,
} from './call.ts'

/** What a caller that has authenticated or parsed the request already can hand in with it. */
export interface FetchExtras {
  auth?: unknown
  /** The body as a value, when it has been read. */
  parsedBody?: unknown
}

/** The rim on web-standard `Request` and `Response`, for every runtime that has them. */
export class WebCall implements HttpCall {
  readonly method: string
  readonly request: CallRequest
  readonly response: Promise<Response>
  readonly #request: Request
  readonly #extras: FetchExtras
  #resolve!: (response: Response) => void
  #onClose: (() => void) | undefined

  constructor(request: Request, extras: FetchExtras = {}) {
    this.method = request.method
    this.request = new WebRequestFacts(request, extras.auth)
    this.#request = request
    this.#extras = extras
    this.response = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  async body(limits: BodyLimits): Promise<Body> {
    if (this.#extras.parsedBody !== undefined) return { value: this.#extras.parsedBody }
    const bytes = await readBytes(this.#request, limits)
    try {
      return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
    } catch {
      throw notUtf8()
    }
  }

  reply(status: number, headers: HeaderFields, text = ''): void {
    const { connection: _hop, ...fields } = headers
    const hasBody = status !== 204 && text !== ''
    this.#resolve(new Response(hasBody ? text : null, { status, headers: fields }))
  }

  stream(headers: HeaderFields): EventSink {
    const sink = new WebSink(() => this.#onClose?.())
    this.#resolve(new Response(sink.readable, { status: 200, headers: { ...headers } }))
    return sink
  }

  onClose(listener: () => void): void {
    this.#onClose = listener
    if (this.#request.signal.aborted) listener()
    else this.#request.signal.addEventListener('abort', listener, { once: true })
  }
}

class WebRequestFacts implements CallRequest {
  readonly #request: Request
  readonly auth: unknown
  readonly peer = undefined
  principal: string | undefined

  constructor(request: Request, auth: unknown) {
    this.#request = request
    this.auth = auth
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

class WebSink implements EventSink {
  readonly readable: ReadableStream<Uint8Array>
  readonly #encoder = new TextEncoder()
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #isOpen = true

  constructor(onCancel: () => void) {
    const strategy = { highWaterMark: 0, size: (chunk: Uint8Array | undefined) => chunk?.byteLength ?? 0 }
    this.readable = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        cancel: () => {
          this.#isOpen = false
          onCancel()
        },
      },
      strategy,
    )
  }

  write(text: string): void {
    if (this.#isOpen) this.#controller.enqueue(this.#encoder.encode(text))
  }

  get waiting(): number {
    return this.#isOpen ? -(this.#controller.desiredSize ?? 0) : 0
  }

  end(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#controller.close()
  }

  destroy(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#controller.error(new Error('The connection was cut'))
  }
}

async function readBytes(request: Request, { maxBodyBytes, bodyTimeoutMs }: BodyLimits): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length') ?? 0) > maxBodyBytes) throw tooLarge(maxBodyBytes)
  if (!request.body) return new Uint8Array()
  const reader: ReadableStreamDefaultReader<Uint8Array> = request.body.getReader()
  const chunks: Uint8Array[] = []
  let length = 0
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    void reader.cancel().catch(() => {})
  }, bodyTimeoutMs)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (isLate) throw tooSlow(bodyTimeoutMs)
      if (done) return join(chunks, length)
      length += value.byteLength
      if (length > maxBodyBytes) {
        void reader.cancel().catch(() => {})
        throw tooLarge(maxBodyBytes)
      }
      chunks.push(value)
    }
  } finally {
    clearTimeout(timer)
  }
}

function join(chunks: readonly Uint8Array[], length: number): Uint8Array {
  if (chunks.length === 1) return chunks[0]!
  const joined = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    joined.set(chunk, offset)
    offset += chunk.byteLength
  }
  return joined
}
