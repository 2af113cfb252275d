import type {
  ConfiguredServer,
  ConnectRequest,
  InspectorEvent,
  OperationRequest,
  QuestionAnswer,
  RootsSet,
  ShownError,
} from '../../../src/inspector/protocol.ts'

/** The requests that the page makes to its backend. See `protocol.ts`. */
export class Backend {
  readonly #base: URL
  readonly #secret: string

  /** @param base The address of the page; `api/` is below it. */
  constructor(base: URL, secret: string) {
    this.#base = new URL('api/', base)
    this.#secret = secret
  }

  configured(): Promise<ConfiguredServer[]> {
    return this.#ask('GET', 'configured')
  }

  connect(request: ConnectRequest): Promise<{ server: string }> {
    return this.#ask('POST', 'servers', request)
  }

  async reconnect(server: string): Promise<void> {
    await this.#ask('POST', `servers/${encodeURIComponent(server)}/connect`)
  }

  async disconnect(server: string): Promise<void> {
    await this.#ask('POST', `servers/${encodeURIComponent(server)}/disconnect`)
  }

  async remove(server: string): Promise<void> {
    await this.#ask('DELETE', `servers/${encodeURIComponent(server)}`)
  }

  async setRoots(server: string, roots: RootsSet['roots']): Promise<void> {
    await this.#ask('PUT', `servers/${encodeURIComponent(server)}/roots`, roots)
  }

  async operate(server: string, request: OperationRequest): Promise<string> {
    const path = `servers/${encodeURIComponent(server)}/operations`
    const { operation } = await this.#ask<{ operation: string }>('POST', path, request)
    return operation
  }

  async cancel(operation: string): Promise<void> {
    await this.#ask('POST', `operations/${encodeURIComponent(operation)}/cancel`)
  }

  async answer(question: string, answer: QuestionAnswer): Promise<void> {
    await this.#ask('POST', `questions/${encodeURIComponent(question)}/answer`, answer)
  }

  /** Begins a login. There is no page to open if none was needed, or if it failed. */
  login(server: string): Promise<{ url?: string | undefined }> {
    return this.#ask('POST', `servers/${encodeURIComponent(server)}/login`)
  }

  /** One event, complete. */
  event(seq: number): Promise<InspectorEvent> {
    return this.#ask('GET', `events/${seq}`)
  }

  /** The text of a saved transcript, with every message complete. */
  async transcript(): Promise<string> {
    return (await this.#fetch('GET', 'transcript')).text()
  }

  /** The stream of events after `seq`. */
  async events(seq: number, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const response = await this.#fetch('GET', `events?after=${seq}`, undefined, signal)
    if (response.body === null) throw new Error('The backend sent no events.')
    return response.body
  }

  async #ask<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await this.#fetch(method, path, body)
    return response.json()
  }

  async #fetch(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.#secret}` }
    if (body !== undefined) headers['content-type'] = 'application/json'
    const text = body === undefined ? null : JSON.stringify(body)
    const response = await fetch(new URL(path, this.#base), { method, headers, body: text, signal: signal ?? null })
    if (!response.ok) throw await toError(response)
    return response
  }
}

/** An error that the backend answered with. */
export class BackendError extends Error {
  readonly status: number
  readonly hint: string | undefined

  constructor(status: number, { message, hint }: Pick<ShownError, 'message' | 'hint'>) {
    super(message)
    this.status = status
    this.hint = hint
  }
}

async function toError(response: Response): Promise<BackendError> {
  const text = await response.text()
  try {
    const { error } = JSON.parse(text) as { error: ShownError }
    return new BackendError(response.status, error)
  } catch {
    return new BackendError(response.status, {
      message: `The backend answered ${response.status}: ${text.slice(0, 200)}`,
    })
  }
}
