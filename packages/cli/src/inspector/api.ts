import type { IncomingMessage, ServerResponse } from 'node:http'
import { resolve } from 'node:path'
import { McpError } from 'tenon'
import { findServers, readServers } from '../config-files.ts'
import { CliError, describeError } from '../exit-codes.ts'
import { describeTarget } from '../target.ts'
import { streamEvents } from './event-stream.ts'
import type { InspectedServer } from './inspected-server.ts'
import type { InspectorState } from './inspector-state.ts'
import { login } from './login.ts'
import type { ConfiguredServer } from './protocol.ts'
import { ApiError, readJson } from './request-body.ts'
import { toConnectRequest, toOperationRequest, toQuestionAnswer, toRoots } from './requests.ts'
import { sendTranscript } from './transcript.ts'

/** The API of the page. The requests and answers are described in `protocol.ts`. */
export class Api {
  readonly #state: InspectorState
  readonly #streams = new Set<ServerResponse>()
  readonly #atFirstPage: (() => void)[] = []

  constructor(state: InspectorState) {
    this.#state = state
  }

  /**
   * Responds to a request.
   * @param path The path below `api/`.
   */
  async handle(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const url = new URL(request.url ?? '/', 'http://localhost')
      if (path === 'events' && request.method === 'GET') return this.#stream(url, response)
      if (path === 'transcript' && request.method === 'GET') return await sendTranscript(this.#state.log, response)
      const answer = await this.#answer(request.method ?? 'GET', path, request)
      if (typeof answer === 'string') sendText(response, 200, answer)
      else sendText(response, 200, JSON.stringify(answer ?? {}))
    } catch (error) {
      sendError(response, error)
    }
  }

  /** Calls a function when a page reads the log for the first time. */
  onFirstPage(call: () => void): void {
    this.#atFirstPage.push(call)
  }

  /** Ends the streams of all pages. */
  close(): void {
    for (const response of this.#streams) response.end()
  }

  #stream(url: URL, response: ServerResponse): void {
    const after = Number(url.searchParams.get('after') ?? '0')
    if (!Number.isSafeInteger(after) || after < 0)
      throw new ApiError(400, 'invalid-request', '"after" must be a number.')
    if (this.#streams.size >= maxStreams)
      throw new ApiError(503, 'overloaded', 'Too many pages are open. Close some of them.')
    this.#streams.add(response)
    response.once('close', () => this.#streams.delete(response))
    streamEvents(this.#state.log, after, response)
    for (const call of this.#atFirstPage.splice(0)) call()
  }

  /** Returns the answer as a value, or as JSON text. */
  async #answer(method: string, path: string, request: IncomingMessage): Promise<unknown> {
    const [noun, id = '', verb, ...rest] = path.split('/').map(decode)
    const body = method === 'GET' ? undefined : await readJson(request)
    const route =
      rest.length > 0 ? undefined : routes[`${method} ${[noun, id && ':id', verb].filter(Boolean).join('/')}`]
    if (!route) throw new ApiError(404, 'not-found', `Not found: ${method} /api/${path}`.slice(0, 500))
    return route(this.#state, id, body)
  }
}

/** Browsers open at most six connections to one server. */
const maxStreams = 32

type Route = (state: InspectorState, id: string, body: unknown) => unknown

const routes: Readonly<Record<string, Route>> = {
  'GET events/:id': ({ log }, id) => {
    const event = /^\d{1,15}$/.test(id) ? log.find(Number(id)) : undefined
    return event ?? notFound('The event was dropped, or does not exist.')
  },
  'GET configured': ({ config }) => configuredServers(config),
  'POST servers': (state, _id, body) => ({ server: state.connect(toConnectRequest(body)) }),
  'POST servers/:id/connect': (state, id) => {
    void serverOf(state, id).connect()
  },
  'POST servers/:id/disconnect': (state, id) => serverOf(state, id).disconnect(),
  'DELETE servers/:id': async (state, id) => {
    const server = serverOf(state, id)
    state.servers.delete(id)
    await server.remove()
  },
  'PUT servers/:id/roots': (state, id, body) => serverOf(state, id).setRoots(toRoots(body)),
  'POST servers/:id/operations': (state, id, body) => ({
    operation: state.operations.start(serverOf(state, id), toOperationRequest(body)),
  }),
  'POST servers/:id/login': async (state, id) => {
    const server = serverOf(state, id)
    if (server.url === undefined) throw new ApiError(409, 'no-login', 'Only servers with a URL have a login.')
    return { url: await login({ server, log: state.log, tokens: state.tokens }) }
  },
  'POST operations/:id/cancel': ({ operations }, id) => {
    if (!operations.cancel(id)) notFound('The operation is not running.')
  },
  'POST questions/:id/answer': ({ questions }, id, body) => {
    if (!questions.answer(id, toQuestionAnswer(body))) notFound('The question is not open.')
  },
}

function serverOf({ servers }: InspectorState, id: string): InspectedServer {
  return servers.get(id) ?? notFound('The server does not exist.')
}

function notFound(message: string): never {
  throw new ApiError(404, 'not-found', message)
}

/** The servers of a config file that the user named, then those of files that are found. */
function configuredServers(path: string | undefined): ConfiguredServer[] {
  const named = path === undefined ? [] : Object.entries(readServers(path).servers)
  const source = resolve(path ?? '')
  const servers = named.map(([id, config]) => ({ id, config, source }))
  const found = findServers().filter((server) => path === undefined || resolve(server.source) !== source)
  return [...servers, ...found].map((server) => ({
    name: server.id,
    source: server.source,
    address: describeTarget(server),
  }))
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Sends an error as JSON. */
export function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy()
  const { code, message, hint } =
    error instanceof ApiError ? { ...describeError(error), code: error.code } : describeError(error)
  // The rest of a body that is too large is not read.
  if (error instanceof ApiError && error.status === 413) response.setHeader('connection', 'close')
  sendText(response, statusOf(error), JSON.stringify({ error: { code, message, ...(hint !== undefined && { hint }) } }))
}

function statusOf(error: unknown): number {
  if (error instanceof ApiError) return error.status
  return error instanceof CliError || error instanceof McpError ? 400 : 500
}

function sendText(response: ServerResponse, status: number, json: string): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
  response.end(json)
}
