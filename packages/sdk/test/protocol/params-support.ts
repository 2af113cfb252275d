import { loggingLevels } from '../../src/protocol/logging.ts'
import type {
  ClientNotifications,
  ClientRequests,
  ServerNotifications,
  ServerRequests,
} from '../../src/protocol/methods.ts'
import { paramsChecks } from '../../src/protocol/params.ts'

export type Examples = {
  [M in keyof ClientRequests]: ClientRequests[M]['params'][]
} & {
  [M in Exclude<keyof ServerRequests, keyof ClientRequests>]: ServerRequests[M]['params'][]
} & ClientNotes &
  ServerNotes
export type ClientNotes = { [M in keyof ClientNotifications]: ClientNotifications[M][] }
export type ServerNotes = {
  [M in Exclude<keyof ServerNotifications, keyof ClientNotifications>]: ServerNotifications[M][]
}

export const info = { name: 'probe', version: '1.0.0' }
export const filter = {
  toolsListChanged: true,
  promptsListChanged: false,
  resourcesListChanged: true,
  resourceSubscriptions: ['file:///a', 'file:///b'],
}
export const legacyTask = {
  taskId: 't1',
  status: 'working' as const,
  createdAt: '2026-01-01T00:00:00Z',
  lastUpdatedAt: '2026-01-01T00:00:00Z',
  ttl: 60_000,
}
export const { ttl: _, ...taskBase } = legacyTask
export const task = { ...taskBase, ttlMs: null }
export const form = {
  type: 'object' as const,
  properties: { env: { type: 'string' as const, enum: ['staging', 'live'] } },
  required: ['env'],
}
export const answer = { action: 'accept' as const, content: { env: 'live' } }
export const hello = { role: 'user' as const, content: { type: 'text' as const, text: 'Hello' } }

/** The minimal valid params of each method, followed by richer examples. */
export const examples: Examples = {
  initialize: [{ protocolVersion: '2025-11-25', capabilities: {}, clientInfo: info }],
  ping: [{}],
  'server/discover': [{}],
  'resources/list': [{}, { cursor: '' }],
  'resources/templates/list': [{}, { cursor: 'p2' }],
  'resources/read': [{ uri: 'file:///a' }, { uri: 'file:///a', inputResponses: { q: answer }, requestState: 's' }],
  'resources/subscribe': [{ uri: 'file:///a' }],
  'resources/unsubscribe': [{ uri: 'file:///a' }],
  'prompts/list': [{}, { cursor: 'p2' }],
  'prompts/get': [
    { name: 'review' },
    { name: 'review', arguments: { code: 'x' }, inputResponses: { q: answer }, requestState: 's' },
  ],
  'tools/list': [{}, { cursor: 'p2' }],
  'tools/call': [
    { name: 'add' },
    { name: 'add', arguments: { a: 1, b: null }, task: { ttl: 1000 } },
    { name: 'add', arguments: {}, inputResponses: {}, requestState: '' },
  ],
  'completion/complete': [
    { ref: { type: 'ref/prompt', name: 'review' }, argument: { name: 'code', value: '' } },
    {
      ref: { type: 'ref/resource', uri: 'file:///{path}' },
      argument: { name: 'path', value: 'a' },
      context: { arguments: { disk: 'c' } },
    },
  ],
  'logging/setLevel': loggingLevels.map((level) => ({ level })),
  'subscriptions/listen': [{ notifications: {} }, { notifications: filter }],
  'tasks/get': [{ taskId: 't1' }],
  'tasks/result': [{ taskId: 't1' }],
  'tasks/cancel': [{ taskId: 't1' }],
  'tasks/update': [
    { taskId: 't1', inputResponses: {} },
    { taskId: 't1', inputResponses: { q: answer } },
  ],
  'tasks/list': [{}, { cursor: 'p2' }],
  'roots/list': [{}],
  'sampling/createMessage': [
    { messages: [hello], maxTokens: 100 },
    {
      messages: [hello],
      maxTokens: 100,
      modelPreferences: { hints: [{ name: 'small' }], costPriority: 0.5 },
      systemPrompt: 'Be brief',
      includeContext: 'none',
      temperature: 0.3,
      stopSequences: ['END'],
      metadata: { seed: 1 },
      tools: [{ name: 'add', inputSchema: { type: 'object' } }],
      toolChoice: { mode: 'auto' },
      task: {},
    },
  ],
  'elicitation/create': [
    { message: 'Where?', requestedSchema: form },
    { mode: 'form', message: 'Where?', requestedSchema: form, task: { ttl: 5 } },
    { mode: 'url', message: 'Sign in', url: 'https://example.com/', elicitationId: 'e1' },
  ],
  'notifications/initialized': [{}],
  'notifications/roots/list_changed': [{}],
  'notifications/resources/list_changed': [{}],
  'notifications/prompts/list_changed': [{}],
  'notifications/tools/list_changed': [{}],
  'notifications/resources/updated': [{ uri: 'file:///a' }],
  'notifications/cancelled': [{ requestId: 7 }, { requestId: 'r7', reason: 'bored' }],
  'notifications/progress': [
    { progressToken: 'p', progress: 0.5 },
    { progressToken: 0, progress: 1, total: 2, message: 'half' },
  ],
  'notifications/message': [
    { level: 'info', data: null },
    { level: 'error', logger: 'db', data: { code: 1 } },
  ],
  'notifications/subscriptions/acknowledged': [{ notifications: {} }, { notifications: filter }],
  'notifications/elicitation/complete': [{ elicitationId: 'e1' }],
  'notifications/tasks/status': [
    legacyTask,
    { ...legacyTask, ttl: null, pollInterval: 500, statusMessage: 'half way', status: 'input_required' },
  ],
  'notifications/tasks': [
    { ...task, status: 'working' },
    { ...task, status: 'cancelled', ttlMs: 1000, pollIntervalMs: 500, statusMessage: 'stopped' },
    { ...task, status: 'input_required', inputRequests: {} },
    { ...task, status: 'completed', result: { content: [] } },
    { ...task, status: 'failed', error: { code: -32603, message: 'Internal error' } },
  ],
}

export function check(method: string, params: object): string | undefined {
  const run = paramsChecks.get(method)
  if (!run) throw new Error(`no check for ${method}`)
  return run(Object.freeze({ ...params }))
}
