import { type Answer, overHttp, type SendHttp } from './http-client.ts'
import type { Message } from './message.ts'

/** A client of the HTTP+SSE transport: a stream to listen on, whose first event names the URL to post to. */
export class SseClient {
  readonly stream: Answer
  readonly endpoint: string
  readonly #door: SendHttp
  readonly #headers: Record<string, string>
  readonly #posts: Answer[] = []

  private constructor(stream: Answer, endpoint: string, way: SendHttp, headers: Record<string, string>) {
    this.stream = stream
    this.endpoint = endpoint
    this.#door = way
    this.#headers = headers
  }

  static async open(url: string, { path = '/sse', headers = {} as Record<string, string> } = {}): Promise<SseClient> {
    const way = overHttp(url)
    const stream = await way({ method: 'GET', path, headers: { accept: 'text/event-stream', ...headers } })
    const first = await stream.until(() => stream.events[0])
    return new SseClient(stream, first.data ?? '', way, headers)
  }

  async post(message: Message | Message[], headers: Record<string, string> = {}): Promise<Answer> {
    const answer = await this.#door({
      path: this.endpoint,
      headers: { 'content-type': 'application/json', ...this.#headers, ...headers },
      body: JSON.stringify(message),
    })
    this.#posts.push(answer)
    return answer
  }

  /** Sends a request and returns the response from the stream. */
  async request(id: string | number, method: string, params: Record<string, unknown> = {}): Promise<Message> {
    await this.post({ jsonrpc: '2.0', id, method, params })
    return this.answerTo(id)
  }

  answerTo(id: string | number): Promise<Message> {
    const isAnswer = (message: Message) => message.id === id && message.method === undefined
    return this.stream.until(() => responses(this.stream).find(isAnswer))
  }

  async initialize(protocolVersion = '2024-11-05'): Promise<Message> {
    const clientInfo = { name: 'old', version: '1' }
    const answer = await this.request('hello', 'initialize', { protocolVersion, capabilities: {}, clientInfo })
    await this.post({ jsonrpc: '2.0', method: 'notifications/initialized' })
    return answer
  }

  async textOf(name: string, args: Record<string, unknown> = {}, id: string | number = name) {
    return (await this.request(id, 'tools/call', { name, arguments: args })).result?.content?.[0]?.text
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const answer of [this.stream, ...this.#posts]) await answer[Symbol.asyncDispose]()
  }
}

/** Returns the messages of a stream whose first event is an endpoint. */
export function responses({ events }: Answer): Message[] {
  return events.flatMap(({ event, data }) => (event === 'message' && data ? JSON.parse(data) : []))
}
