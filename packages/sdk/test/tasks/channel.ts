import type { RevisionId } from 'tenon'
import type { McpServer } from 'tenon/server'
import { type OfficialSchema, ScriptedClient } from 'tenon/testing'
import * as z from 'zod'
import { type Answer, overHttp } from '../kit/http-client.ts'
import { Peer } from '../kit/http-peer.ts'
import type { Message } from '../kit/message.ts'
import { officialSchema } from '../kit/official-schemas.ts'

type Body = Record<string, unknown>

/** A raw connection to a server. */
export interface Channel {
  request(method: string, params: Body): Promise<Message>
  say(message: Message): Promise<void>
  /** Messages from the server that are not responses, in order. */
  readonly heard: Message[]
  /** Waits for a message from the server. */
  until<T>(look: (heard: Message[]) => T | undefined): Promise<T>
  readonly problems: string[]
  close(): Promise<void>
  /** Set over HTTP only. */
  readonly peer?: Peer
}

export async function openMemory(
  server: McpServer,
  revision: RevisionId,
  capabilities: Record<string, object>,
): Promise<Channel> {
  const client = await ScriptedClient.connect(server, { revision, capabilities })
  const heard = new Heard(revision)
  client.transcript.onLine(({ from, message }) => heard.hear(from, message as Message))
  await client.open()
  return {
    heard: heard.messages,
    problems: heard.problems,
    until: (look) => heard.until(look),
    request: (method, params) => client.request(method, params) as Promise<Message>,
    say: async (message) => client.say(message),
    close: () => client.close(),
  }
}

export async function openHttp(
  url: string,
  revision: RevisionId,
  capabilities: Record<string, object>,
  headers: Record<string, string>,
): Promise<Channel> {
  const heard = new Heard(revision)
  const answers: Answer[] = []
  const way = overHttp(url)
  const peer = await Peer.open(
    async (ask) => {
      if (ask.body !== undefined) heard.hear('client', JSON.parse(ask.body))
      const answer = await way(ask)
      answers.push(answer)
      return answer
    },
    revision,
    { headers, capabilities },
  )
  // On 2025-11-25, messages that belong to no request arrive on a separate stream.
  if (revision !== '2026-07-28') follow(await peer.get(), heard)
  return {
    peer,
    heard: heard.messages,
    problems: heard.problems,
    until: (look) => heard.until(look),
    request: async (method, params) => {
      const named = revision === '2026-07-28' && typeof params.taskId === 'string' && { 'mcp-name': params.taskId }
      const answer = await peer.request(method, params, { headers: named || {} })
      follow(answer, heard)
      const response = await answer.response()
      if (!answer.isStream) heard.hear('server', response)
      return response
    },
    say: async (message) => {
      await peer.post(message)
    },
    close: async () => {
      for (const answer of answers) await answer[Symbol.asyncDispose]()
    },
  }
}

/** Records the messages of a stream from its start. */
function follow(answer: Answer, heard: Heard): void {
  let seen = 0
  const take = () => {
    const { messages } = answer
    for (const message of messages.slice(seen)) heard.hear('server', message)
    seen = messages.length
  }
  answer.onMessage = take
  take()
}

/** Records the messages of a channel and validates them with the official schemas when those are available. */
class Heard {
  readonly messages: Message[] = []
  readonly problems: string[] = []
  readonly #revision: RevisionId
  readonly #schema: OfficialSchema | undefined
  readonly #methods = new Map<unknown, string>()
  readonly #watchers = new Set<() => void>()

  constructor(revision: RevisionId) {
    this.#revision = revision
    this.#schema = officialSchema(revision)
  }

  hear(from: 'client' | 'server', message: Message): void {
    if (from === 'client') {
      if (message.method !== undefined) this.#methods.set(message.id, message.method)
      return
    }
    this.#judge(message)
    if (message.method === undefined) return
    this.messages.push(message)
    for (const watcher of [...this.#watchers]) watcher()
  }

  until<T>(look: (heard: Message[]) => T | undefined): Promise<T> {
    return new Promise((resolve) => {
      const watcher = () => {
        const found = look(this.messages)
        if (found === undefined) return
        this.#watchers.delete(watcher)
        resolve(found)
      }
      this.#watchers.add(watcher)
      watcher()
    })
  }

  #judge(message: Message): void {
    const method = message.method ?? this.#methods.get(message.id)
    const problem =
      this.#revision === '2026-07-28' && isOfTasks(method, message)
        ? extensionProblem(method!, message)
        : this.#officialProblem(message, method)
    if (problem !== undefined) this.problems.push(`${JSON.stringify(message).slice(0, 500)}\n  ${problem}`)
  }

  #officialProblem(message: Message, method: string | undefined): string | undefined {
    const { result } = message
    // The schema has no response type for a task-augmented call, so the task is validated on its own.
    if (method === 'tools/call' && result?.task) {
      return this.#schema?.problem({ ...message, result: result.task } as never, 'tasks/get')
    }
    if (method === 'tasks/result') return this.#schema?.problem(message as never, 'tools/call')
    return this.#schema?.problem(message as never, method)
  }
}

function isOfTasks(method: string | undefined, { result, params }: Message): boolean {
  if (method === 'notifications/tasks') return params !== undefined
  return result !== undefined && (result.resultType === 'task' || method?.startsWith('tasks/') === true)
}

/** Validates with the draft schema of the tasks extension: each status has its own fields and no others. */
function extensionProblem(method: string, { result, params }: Message): string | undefined {
  const shape =
    method === 'tools/call'
      ? createdTask
      : method === 'notifications/tasks'
        ? notifiedTask
        : method === 'tasks/get'
          ? gottenTask
          : acknowledged
  const checked = shape.safeParse(result ?? params)
  return checked.success ? undefined : `${method}: ${checked.error.message}`
}

const _meta = z.looseObject({}).optional()
const base = {
  _meta,
  taskId: z.string(),
  statusMessage: z.string().optional(),
  createdAt: z.iso.datetime(),
  lastUpdatedAt: z.iso.datetime(),
  ttlMs: z.int().nullable(),
  pollIntervalMs: z.int().optional(),
}
const createdTask = z.strictObject({
  ...base,
  resultType: z.literal('task'),
  status: z.enum(['working', 'input_required', 'completed', 'failed', 'cancelled']),
})
const acknowledged = z.strictObject({ resultType: z.literal('complete'), _meta })
const gottenTask = detailedTask({ ...base, resultType: z.literal('complete') })
const notifiedTask = detailedTask(base)

function detailedTask(fields: z.ZodRawShape) {
  const error = z.strictObject({ code: z.int(), message: z.string(), data: z.unknown().optional() })
  return z.discriminatedUnion('status', [
    z.strictObject({ ...fields, status: z.enum(['working', 'cancelled']) }),
    z.strictObject({ ...fields, status: z.literal('input_required'), inputRequests: z.record(z.string(), z.object()) }),
    z.strictObject({ ...fields, status: z.literal('completed'), result: z.looseObject({}) }),
    z.strictObject({ ...fields, status: z.literal('failed'), error }),
  ])
}
