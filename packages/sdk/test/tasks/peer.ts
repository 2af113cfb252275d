import type { RevisionId } from 'tenon'
import type { McpServer } from 'tenon/server'
import { expect } from 'vitest'
import type { Message } from '../kit/message.ts'

import { type Channel, openHttp, openMemory } from './channel.ts'

export type Capabilities = Record<string, object>
export type Body = Record<string, unknown>

export interface TaskState {
  taskId: string
  status: string
  statusMessage?: string
  createdAt: string
  lastUpdatedAt: string
  /** Named `ttl` on 2025-11-25. */
  ttlMs: number | null
  /** Named `pollInterval` on 2025-11-25. */
  pollIntervalMs?: number
}

export interface Outcome {
  result?: Message['result']
  error?: Message['error']
}

/** A question from a task, sent as a request or listed in the task. */
export interface Question {
  /** The key of the question on revisions that have one. */
  key: string
  method: string
  params: Body
  answer(result: Body): Promise<void>
  /** Answers with an error. */
  refuse(error: { code: number; message: string }): Promise<void>
}

export interface StartOptions {
  ttlMs?: number
  meta?: Body
}

/** A raw client with the task methods of its revision. */
export class TaskPeer {
  readonly channel: Channel
  readonly #isModern: boolean
  /** The pending `tasks/result` request of each task (2025-11-25). */
  readonly #waiting = new Map<string, Promise<Message>>()
  readonly #taken = new Set<unknown>()

  private constructor(channel: Channel, revision: RevisionId) {
    this.channel = channel
    this.#isModern = revision === '2026-07-28'
  }

  static async open(
    where: McpServer | string,
    revision: RevisionId,
    capabilities: Capabilities,
    headers: Record<string, string> = {},
  ): Promise<TaskPeer> {
    const channel =
      typeof where === 'string'
        ? await openHttp(where, revision, capabilities, headers)
        : await openMemory(where, revision, capabilities)
    return new TaskPeer(channel, revision)
  }

  /** Messages from the server that the official schemas reject. */
  get problems(): string[] {
    return this.channel.problems
  }

  request(method: string, params: Body = {}): Promise<Message> {
    return this.channel.request(method, params)
  }

  /** Calls a tool and requests a task on revisions where clients can. */
  call(name: string, args: Body = {}, { ttlMs, meta }: StartOptions = {}): Promise<Message> {
    return this.request('tools/call', {
      name,
      arguments: args,
      ...(!this.#isModern && { task: ttlMs === undefined ? {} : { ttl: ttlMs } }),
      ...(meta && { _meta: meta }),
    })
  }

  /** Calls a tool without task augmentation. */
  plain(name: string, args: Body = {}): Promise<Message> {
    return this.request('tools/call', { name, arguments: args })
  }

  /** Calls a tool that becomes a task, and returns the task id. */
  async start(name: string, args: Body = {}, options: StartOptions = {}): Promise<string> {
    return (await this.create(name, args, options)).taskId
  }

  async create(name: string, args: Body = {}, options: StartOptions = {}): Promise<TaskState> {
    return this.toState(await this.call(name, args, options))
  }

  /** Returns the task in a response. */
  toState({ result, error }: Message): TaskState {
    const task = (this.#isModern ? result : (result?.task ?? result)) as Body | undefined
    if (typeof task?.taskId !== 'string') throw new Error(`This is no task: ${JSON.stringify(result ?? error)}`)
    const { ttl, pollInterval } = task
    return (this.#isModern ? task : { ...task, ttlMs: ttl, pollIntervalMs: pollInterval }) as unknown as TaskState
  }

  async state(id: string): Promise<TaskState> {
    return this.toState(await this.request('tasks/get', { taskId: id }))
  }

  /** Polls until the task has one of the statuses. */
  async until(id: string, ...statuses: string[]): Promise<TaskState> {
    for (;;) {
      const state = await this.state(id)
      if (statuses.includes(state.status)) return state
      if (isFinal(state.status)) throw new Error(`It never was ${statuses}: ${JSON.stringify(state)}`)
      await pause()
    }
  }

  /** Waits until `count` questions are open. */
  questions(id: string, count = 1): Promise<Question[]> {
    return this.#isModern ? this.#modernQuestions(id, count) : this.#legacyQuestions(id, count)
  }

  /** Waits for the outcome of the task. */
  async result(id: string): Promise<Outcome> {
    if (!this.#isModern) {
      const { result, error } = await this.wait(id)
      return result ? { result } : { error: error! }
    }
    await this.until(id, 'completed', 'failed', 'cancelled')
    const { result } = await this.request('tasks/get', { taskId: id })
    if (result?.status === 'failed') return { error: result.error as NonNullable<Message['error']> }
    return { result: result?.result as NonNullable<Message['result']> }
  }

  async textOf(id: string): Promise<string | undefined> {
    return (await this.result(id)).result?.content?.[0]?.text
  }

  /** Answers every question until the task ends. */
  async drive(id: string, answer: (question: Question) => Body): Promise<Outcome> {
    const result = this.result(id)
    for (;;) {
      const asked = await this.questions(id)
      if (asked.length === 0) break
      for (const question of asked) await question.answer(answer(question))
    }
    return result
  }

  cancel(id: string): Promise<Message> {
    return this.request('tasks/cancel', { taskId: id })
  }

  /** Sends `tasks/result`, once per task. */
  wait(id: string): Promise<Message> {
    const waiting = this.#waiting.get(id) ?? this.request('tasks/result', { taskId: id })
    this.#waiting.set(id, waiting)
    return waiting
  }

  /** Returns the notifications received so far with the given method. */
  heard(method: string): Message[] {
    return this.channel.heard.filter((message) => message.method === method)
  }

  close(): Promise<void> {
    return this.channel.close()
  }

  async #modernQuestions(id: string, count: number): Promise<Question[]> {
    for (;;) {
      const { result } = await this.request('tasks/get', { taskId: id })
      const requests = Object.entries((result?.inputRequests ?? {}) as Record<string, Message>)
      if (requests.length >= count) return requests.map(([key, request]) => this.#modernQuestion(id, key, request))
      if (isFinal(String(result?.status))) return []
      await pause()
    }
  }

  #modernQuestion(id: string, key: string, { method, params }: Message): Question {
    const update = async (answer: Body) => {
      const { result, error } = await this.request('tasks/update', { taskId: id, inputResponses: { [key]: answer } })
      if (error) throw Object.assign(new Error(error.message), { code: error.code })
      expect(result).toMatchObject({ resultType: 'complete' })
    }
    return {
      key,
      method: method!,
      params: params ?? {},
      answer: update,
      refuse: (error) => update({ error }),
    }
  }

  async #legacyQuestions(id: string, count: number): Promise<Question[]> {
    const over = this.wait(id)
    const asked = this.channel.until((heard) => {
      const open = heard.filter((message) => isAbout(id, message) && !this.#taken.has(message.id))
      return open.length >= count ? open : undefined
    })
    const open = await Promise.race([asked, over.then(() => [])])
    return open.map((message) => this.#legacyQuestion(message))
  }

  #legacyQuestion({ id, method, params }: Message): Question {
    this.#taken.add(id)
    return {
      key: String(id),
      method: method!,
      params: params ?? {},
      answer: (result) => this.channel.say({ jsonrpc: '2.0', id, result }),
      refuse: (error) => this.channel.say({ jsonrpc: '2.0', id, error }),
    }
  }
}

function isAbout(taskId: string, { id, params }: Message): boolean {
  const related = params?._meta?.['io.modelcontextprotocol/related-task'] as { taskId?: string } | undefined
  return id !== undefined && related?.taskId === taskId
}

function isFinal(status: string): boolean {
  return ['completed', 'failed', 'cancelled'].includes(status)
}

/** Waits between two polls, following `pollInterval`. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5))
}
