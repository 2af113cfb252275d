import type { ServerCapabilities } from 'tenon'
import type { ClientOptions } from 'tenon/client'
import type { ScriptedAnswer, ScriptedServer } from 'tenon/testing'
import { everything, scripted, scriptedClient } from '../kit/scripted-server.ts'

import { accept, extensionId, legacy, modern } from './client-support.ts'

export type Body = Record<string, unknown>
export type Answers = Record<string, (params: Body) => ScriptedAnswer>

export const times = { createdAt: '2026-01-01T00:00:00Z', lastUpdatedAt: '2026-01-01T00:00:00Z' }
export const done = { content: [{ type: 'text', text: 'done' }] }
export const taskful: Record<string, ServerCapabilities> = {
  [legacy]: { ...everything, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
  [modern]: { ...everything, extensions: { [extensionId]: {} } },
}

/** Creates a task of 2026-07-28 with the id t1 by default. */
export const task = (more: Body = {}) => ({
  taskId: 't1',
  status: 'working',
  ...times,
  ttlMs: null,
  pollIntervalMs: 20,
  ...more,
})
/** Creates the same task in the format of 2025-11-25. */
export const oldTask = (more: Body = {}) => ({
  taskId: 't1',
  status: 'working',
  ...times,
  ttl: null,
  pollInterval: 20,
  ...more,
})
export const gone = { error: { code: -32602, message: 'There is no such task' } }

export function ask(message: string) {
  const requestedSchema = { type: 'object', properties: { sure: { type: 'boolean' } } }
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } }
}

/** Creates a 2025-11-25 server with one tool. */
export function oldServer(
  answers: Answers,
  taskSupport: string | undefined = 'required',
  capabilities = taskful[legacy],
) {
  const tool = { name: 'report', inputSchema: { type: 'object' }, ...(taskSupport && { execution: { taskSupport } }) }
  const call = ({ task }: Body) => ({ result: task ? { task: oldTask() } : { content: [] } })
  const basics = { 'tools/list': () => ({ result: { tools: [tool] } }), 'tools/call': call }
  return scripted(legacy, { ...basics, ...answers }, capabilities)
}

export function clientOf(server: ScriptedServer, options: ClientOptions = {}) {
  return scriptedClient(server, { tasks: true, handlers: { elicit: () => accept() }, ...options })
}
