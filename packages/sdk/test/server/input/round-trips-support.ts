import type { InputResponses } from 'tenon'
import { McpServer, type McpServerOptions, type ServeHttpOptions } from 'tenon/server'
import { Judge, ScriptedClient } from 'tenon/testing'
import { expect, it } from 'vitest'
import { Peer } from '../../kit/http-peer.ts'
import type { Message } from '../../kit/message.ts'
import { officialSchema } from '../../kit/official-schemas.ts'
import { modern } from '../../kit/revisions.ts'
import { serve } from '../../kit/serve-http.ts'

export type { Message }
export { modern }

type Body = Record<string, unknown>

/** Capabilities of a 2026-07-28 client that supports every question. */
export const all = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} }

export interface RawOptions {
  capabilities?: Body
  headers?: Record<string, string>
  serving?: ServeHttpOptions
}

/** A raw client of 2026-07-28. In memory, the messages of the server are validated with the official schema. */
export interface RawPeer {
  request(method: string, params?: Body): Promise<Message>
  call(name: string, args?: Body, more?: Body): Promise<Message>
  /** Messages from the server that are not responses. */
  readonly unasked: Message[]
  [Symbol.asyncDispose](): Promise<void>
}

export type OpenRaw = (server: McpServer, options?: RawOptions) => Promise<RawPeer>

export const ways: Readonly<Record<'memory' | 'http', OpenRaw>> = { memory: openMemory, http: openHttp }

/** Registers a test with raw messages in memory and over HTTP. */
export function everyRaw(title: string, body: (open: OpenRaw) => Promise<void>): void {
  for (const [name, open] of Object.entries(ways)) it(`${title} (${name})`, () => body(open))
}

export function serverOf(options: McpServerOptions = {}, name = 'asker'): McpServer {
  return new McpServer({ name, version: '1.0.0' }, options)
}

async function openMemory(server: McpServer, { capabilities = all }: RawOptions = {}): Promise<RawPeer> {
  const client = await ScriptedClient.connect(server, { capabilities })
  const schema = officialSchema(modern)
  const judge = schema && new Judge(schema)
  client.transcript.onLine((line) => judge?.hear(line))
  const request: RawPeer['request'] = (method, params = {}) => client.request(method, params) as Promise<Message>
  return {
    request,
    call: calling(request),
    get unasked() {
      return (client.transcript.from('server') as Message[]).filter(({ method }) => method !== undefined)
    },
    async [Symbol.asyncDispose]() {
      await client.close()
      expect(judge?.problems.filter((problem) => problem.startsWith('server'))).toEqual(judge && [])
    },
  }
}

async function openHttp(server: McpServer, options: RawOptions = {}): Promise<RawPeer> {
  const { capabilities = all, headers = {}, serving } = options
  const http = await serve(server, serving)
  const peer = await Peer.open(http.url, modern, { capabilities, headers })
  const unasked: Message[] = []
  const request: RawPeer['request'] = async (method, params = {}) => {
    const answer = await peer.request(method, params)
    const response = await answer.response()
    unasked.push(...answer.messages.filter((message) => message.method !== undefined))
    return response
  }
  return {
    request,
    call: calling(request),
    unasked,
    async [Symbol.asyncDispose]() {
      await peer[Symbol.asyncDispose]()
      await http.close()
    },
  }
}

function calling(request: RawPeer['request']): RawPeer['call'] {
  return (name, args = {}, more = {}) => request('tools/call', { name, arguments: args, ...more })
}

/** Returns the questions in a result by key. */
export function questionsOf({ result }: Message): Record<string, { method: string; params?: Body }> {
  expect(result?.resultType).toBe('input_required')
  return (result?.inputRequests ?? {}) as Record<string, { method: string; params?: Body }>
}

export function keysOf(message: Message): string[] {
  return Object.keys(questionsOf(message))
}

export function stateOf({ result }: Message): string {
  expect(typeof result?.requestState).toBe('string')
  return result?.requestState as string
}

/** Returns the params that the next call adds: the state of the last result, and answers. */
export function withAnswers(message: Message, inputResponses: Body | InputResponses): Body {
  return { inputResponses, requestState: stateOf(message) }
}

export const accept = (content: Body = {}) => ({ action: 'accept', content })
export const textOf = ({ result }: Message) => result?.content?.[0]?.text
