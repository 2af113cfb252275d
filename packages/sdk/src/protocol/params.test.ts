import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { schemas } from '../../test/kit/official-schemas.ts'
import { isObject, type JsonObject } from '../util/objects.ts'
import { loggingLevels } from './log-level.ts'
import { metaKeys } from './meta.ts'
import type { ClientNotifications, ClientRequests, ServerNotifications, ServerRequests } from './methods.ts'
import { paramsChecks } from './params.ts'

type Examples = {
  [M in keyof ClientRequests]: ClientRequests[M]['params'][]
} & {
  [M in Exclude<keyof ServerRequests, keyof ClientRequests>]: ServerRequests[M]['params'][]
} & ClientNotes &
  ServerNotes
type ClientNotes = { [M in keyof ClientNotifications]: ClientNotifications[M][] }
type ServerNotes = { [M in Exclude<keyof ServerNotifications, keyof ClientNotifications>]: ServerNotifications[M][] }

const info = { name: 'probe', version: '1.0.0' }
const filter = {
  toolsListChanged: true,
  promptsListChanged: false,
  resourcesListChanged: true,
  resourceSubscriptions: ['file:///a', 'file:///b'],
}
const legacyTask = {
  taskId: 't1',
  status: 'working' as const,
  createdAt: '2026-01-01T00:00:00Z',
  lastUpdatedAt: '2026-01-01T00:00:00Z',
  ttl: 60_000,
}
const { ttl: _, ...taskBase } = legacyTask
const task = { ...taskBase, ttlMs: null }
const form = {
  type: 'object' as const,
  properties: { env: { type: 'string' as const, enum: ['staging', 'live'] } },
  required: ['env'],
}
const answer = { action: 'accept' as const, content: { env: 'live' } }
const hello = { role: 'user' as const, content: { type: 'text' as const, text: 'Hello' } }

/** Per method the least that is valid, then richer examples. */
const examples: Examples = {
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

const cases = Object.entries(examples).flatMap(([method, list]) =>
  list.map((params) => [method, params as JsonObject] as const),
)

function check(method: string, params: object): string | undefined {
  const run = paramsChecks.get(method)
  if (!run) throw new Error(`no check for ${method}`)
  return run(Object.freeze({ ...params }))
}

describe('paramsChecks', () => {
  it('has a check for every method that has an example', () => {
    expect([...paramsChecks.keys()].sort()).toEqual(Object.keys(examples).sort())
  })

  it.each(cases)('accepts valid params of %s', (method, params) => {
    expect(check(method, params)).toBeUndefined()
  })

  it.each(cases)('accepts members of %s that it does not know', (method, params) => {
    expect(check(method, { ...params, 'x-new': { deep: [null] } })).toBeUndefined()
  })

  it.each(Object.keys(examples))('accepts an object and refuses anything else as _meta of %s [RPC-028]', (method) => {
    const params = cases.find(([name]) => name === method)?.[1]
    expect(check(method, { ...params, _meta: {} })).toBeUndefined()
    expect(check(method, { ...params, _meta: { 'com.example/x': null } })).toBeUndefined()
    expect(check(method, { ...params, _meta: null })).toBe('params._meta must be an object, got null')
    expect(check(method, { ...params, _meta: [] })).toBe('params._meta must be an object, got array')
  })

  const requests = Object.keys(examples).filter((method) => !method.startsWith('notifications/'))
  it.each(requests)('wants the progress token of %s to be a string or an integer [PROG-001]', (method) => {
    const params = cases.find(([name]) => name === method)?.[1]
    const withToken = (progressToken: unknown) => check(method, { ...params, _meta: { progressToken } })
    expect(withToken('p')).toBeUndefined()
    expect(withToken('')).toBeUndefined()
    expect(withToken(0)).toBeUndefined()
    const rule = 'params._meta.progressToken must be a string or a safe integer'
    expect(withToken(1.5)).toBe(`${rule}, got number`)
    expect(withToken(2 ** 60)).toBe(`${rule}, got number`)
    expect(withToken(null)).toBe(`${rule}, got null`)
  })

  it('gives a progress token no meaning in the _meta of a notification', () => {
    expect(check('notifications/initialized', { _meta: { progressToken: {} } })).toBeUndefined()
  })
})

const initialize = examples.initialize[0]!
const complete = examples['completion/complete'][0]!
const sample = examples['sampling/createMessage'][0]!
const ask = { message: 'Where?', requestedSchema: form }
const oneOfLevels = 'one of debug, info, notice, warning, error, critical, alert, emergency'
const oneOfStatuses = 'one of working, input_required, completed, failed, cancelled'

/** What each check says, by topic: method, params, sentence. */
const refusals: Record<string, [method: string, params: object, problem: string][]> = {
  'an initialize request without version, capabilities or client info [LIFE-002] [RPC-028]': [
    ['initialize', {}, 'params.protocolVersion must be a string, got nothing'],
    ['initialize', { ...initialize, protocolVersion: 20251125 }, 'params.protocolVersion must be a string, got number'],
    ['initialize', { ...initialize, capabilities: undefined }, 'params.capabilities must be an object, got nothing'],
    ['initialize', { ...initialize, capabilities: [] }, 'params.capabilities must be an object, got array'],
    ['initialize', { ...initialize, clientInfo: 'probe' }, 'params.clientInfo must be an object, got string'],
  ],
  'an implementation without name and version [LIFE-013]': [
    ['initialize', { ...initialize, clientInfo: {} }, 'params.clientInfo.name must be a string, got nothing'],
    [
      'initialize',
      { ...initialize, clientInfo: { name: 'p' } },
      'params.clientInfo.version must be a string, got nothing',
    ],
  ],
  'a cursor that is not a string [PAGE-009]': [
    ['tools/list', { cursor: 1 }, 'params.cursor must be a string, got number'],
    ['prompts/list', { cursor: null }, 'params.cursor must be a string, got null'],
    ['resources/list', { cursor: {} }, 'params.cursor must be a string, got object'],
    ['resources/templates/list', { cursor: true }, 'params.cursor must be a string, got boolean'],
  ],
  'an invalid cursor or taskId in task requests [TASK-046]': [
    ['tasks/list', { cursor: [] }, 'params.cursor must be a string, got array'],
    ['tasks/get', {}, 'params.taskId must be a string, got nothing'],
    ['tasks/result', { taskId: 1 }, 'params.taskId must be a string, got number'],
    ['tasks/cancel', { taskId: null }, 'params.taskId must be a string, got null'],
  ],
  'a task update without taskId or answers [RPC-028]': [
    ['tasks/update', { inputResponses: {} }, 'params.taskId must be a string, got nothing'],
    ['tasks/update', { taskId: 't1' }, 'params.inputResponses must be an object, got nothing'],
    ['tasks/update', { taskId: 't1', inputResponses: [] }, 'params.inputResponses must be an object, got array'],
  ],
  'a malformed task augmentation [TASK-011]': [
    ['sampling/createMessage', { ...sample, task: [] }, 'params.task must be an object, got array'],
    ['elicitation/create', { ...ask, task: { ttl: null } }, 'params.task.ttl must be a finite number, got null'],
  ],
  'a resource request without a uri [RPC-028]': [
    ['resources/read', {}, 'params.uri must be a string, got nothing'],
    ['resources/subscribe', { uri: 1 }, 'params.uri must be a string, got number'],
    ['resources/unsubscribe', { uri: null }, 'params.uri must be a string, got null'],
    ['notifications/resources/updated', {}, 'params.uri must be a string, got nothing'],
  ],
  'a prompt request without name or with arguments that are not strings [PROMPT-006]': [
    ['prompts/get', {}, 'params.name must be a string, got nothing'],
    ['prompts/get', { name: 'p', arguments: [] }, 'params.arguments must be an object, got array'],
    [
      'prompts/get',
      { name: 'p', arguments: { a: 'x', n: 1 } },
      'params.arguments must have only strings as values, got number',
    ],
  ],
  'a tool call without name or with arguments that are not an object [RPC-028]': [
    ['tools/call', {}, 'params.name must be a string, got nothing'],
    ['tools/call', { name: 7 }, 'params.name must be a string, got number'],
    ['tools/call', { name: 'a', arguments: null }, 'params.arguments must be an object, got null'],
    ['tools/call', { name: 'a', arguments: ['x'] }, 'params.arguments must be an object, got array'],
    ['tools/call', { name: 'a', arguments: '{}' }, 'params.arguments must be an object, got string'],
  ],
  'malformed answers in a retry [MRTR-023]': [
    ['tools/call', { name: 'a', inputResponses: [] }, 'params.inputResponses must be an object, got array'],
    ['prompts/get', { name: 'a', inputResponses: 'x' }, 'params.inputResponses must be an object, got string'],
    ['resources/read', { uri: 'a:b', inputResponses: null }, 'params.inputResponses must be an object, got null'],
    ['tools/call', { name: 'a', requestState: {} }, 'params.requestState must be a string, got object'],
    ['prompts/get', { name: 'a', requestState: 1 }, 'params.requestState must be a string, got number'],
    ['resources/read', { uri: 'a:b', requestState: null }, 'params.requestState must be a string, got null'],
  ],
  'a completion request without reference or argument [COMP-002]': [
    ['completion/complete', {}, 'params.ref must be an object, got nothing'],
    ['completion/complete', { ref: {} }, 'params.ref.type must be "ref/prompt" or "ref/resource", got nothing'],
    [
      'completion/complete',
      { ref: { type: 'ref/tool', name: 'a' } },
      'params.ref.type must be "ref/prompt" or "ref/resource", got another string',
    ],
    ['completion/complete', { ref: { type: 'ref/prompt' } }, 'params.ref.name must be a string, got nothing'],
    ['completion/complete', { ref: { type: 'ref/resource' } }, 'params.ref.uri must be a string, got nothing'],
    ['completion/complete', { ...complete, argument: 'a' }, 'params.argument must be an object, got string'],
    ['completion/complete', { ...complete, argument: {} }, 'params.argument.name must be a string, got nothing'],
    [
      'completion/complete',
      { ...complete, argument: { name: 'a' } },
      'params.argument.value must be a string, got nothing',
    ],
  ],
  'a malformed completion context [COMP-003]': [
    ['completion/complete', { ...complete, context: 1 }, 'params.context must be an object, got number'],
    [
      'completion/complete',
      { ...complete, context: { arguments: 'x' } },
      'params.context.arguments must be an object, got string',
    ],
    [
      'completion/complete',
      { ...complete, context: { arguments: { a: null } } },
      'params.context.arguments must have only strings as values, got null',
    ],
  ],
  'a log level outside the eight [LOG-002] [LOG-007]': [
    ['logging/setLevel', {}, `params.level must be ${oneOfLevels}, got nothing`],
    ['logging/setLevel', { level: 'trace' }, `params.level must be ${oneOfLevels}, got another string`],
    ['logging/setLevel', { level: 3 }, `params.level must be ${oneOfLevels}, got number`],
  ],
  'a log message without level or data [LOG-006]': [
    ['notifications/message', { data: 1 }, `params.level must be ${oneOfLevels}, got nothing`],
    ['notifications/message', { level: 'info' }, 'params.data must be present'],
    ['notifications/message', { level: 'info', data: 1, logger: 2 }, 'params.logger must be a string, got number'],
  ],
  'a listen request without a well-typed filter [SUB-001]': [
    ['subscriptions/listen', {}, 'params.notifications must be an object, got nothing'],
    [
      'subscriptions/listen',
      { notifications: { toolsListChanged: 'yes' } },
      'params.notifications.toolsListChanged must be a boolean, got string',
    ],
    [
      'subscriptions/listen',
      { notifications: { promptsListChanged: 1 } },
      'params.notifications.promptsListChanged must be a boolean, got number',
    ],
    [
      'subscriptions/listen',
      { notifications: { resourcesListChanged: null } },
      'params.notifications.resourcesListChanged must be a boolean, got null',
    ],
    [
      'subscriptions/listen',
      { notifications: { resourceSubscriptions: 'file:///a' } },
      'params.notifications.resourceSubscriptions must be an array of strings, got string',
    ],
    [
      'subscriptions/listen',
      { notifications: { resourceSubscriptions: ['file:///a', 2] } },
      'params.notifications.resourceSubscriptions[1] must be a string, got number',
    ],
  ],
  'task ids of a filter that are not strings [XTASK-035]': [
    [
      'subscriptions/listen',
      { notifications: { taskIds: [null] } },
      'params.notifications.taskIds[0] must be a string, got null',
    ],
  ],
  'an acknowledgement without its filter [SUB-005]': [
    ['notifications/subscriptions/acknowledged', {}, 'params.notifications must be an object, got nothing'],
  ],
  'a sampling request without messages or token limit [SAMP-005]': [
    ['sampling/createMessage', {}, 'params.messages must be an array, got nothing'],
    ['sampling/createMessage', { messages: [] }, 'params.maxTokens must be a finite number, got nothing'],
    [
      'sampling/createMessage',
      { messages: [], maxTokens: Number.POSITIVE_INFINITY },
      'params.maxTokens must be a finite number, got number',
    ],
  ],
  'a sampling message without role or content [SAMP-009]': [
    ['sampling/createMessage', { messages: [hello, 1] }, 'params.messages[1] must be an object, got number'],
    [
      'sampling/createMessage',
      { messages: [{ ...hello, role: 'system' }] },
      'params.messages[0].role must be "user" or "assistant", got another string',
    ],
    [
      'sampling/createMessage',
      { messages: [{ role: 'user', content: 'Hello' }] },
      'params.messages[0].content must be a content block or an array of them',
    ],
    [
      'sampling/createMessage',
      { messages: [{ role: 'user', content: [hello.content, { text: 'x' }] }] },
      'params.messages[0].content must be a content block or an array of them',
    ],
  ],
  'sampling options of the wrong type [RPC-028]': [
    [
      'sampling/createMessage',
      { ...sample, modelPreferences: [] },
      'params.modelPreferences must be an object, got array',
    ],
    ['sampling/createMessage', { ...sample, systemPrompt: {} }, 'params.systemPrompt must be a string, got object'],
    [
      'sampling/createMessage',
      { ...sample, includeContext: 'some' },
      'params.includeContext must be "none", "thisServer" or "allServers", got another string',
    ],
    [
      'sampling/createMessage',
      { ...sample, temperature: '1' },
      'params.temperature must be a finite number, got string',
    ],
    [
      'sampling/createMessage',
      { ...sample, stopSequences: 'END' },
      'params.stopSequences must be an array of strings, got string',
    ],
    ['sampling/createMessage', { ...sample, metadata: 1 }, 'params.metadata must be an object, got number'],
    ['sampling/createMessage', { ...sample, tools: {} }, 'params.tools must be an array, got object'],
    ['sampling/createMessage', { ...sample, toolChoice: 'auto' }, 'params.toolChoice must be an object, got string'],
  ],
  'an elicitation without a message [ELIC-009]': [
    ['elicitation/create', { requestedSchema: form }, 'params.message must be a string, got nothing'],
  ],
  'a form without a flat object schema, also when the mode is left out [ELIC-010] [ELIC-011]': [
    ['elicitation/create', { message: 'm' }, 'params.requestedSchema must be an object, got nothing'],
    ['elicitation/create', { mode: 'form', message: 'm' }, 'params.requestedSchema must be an object, got nothing'],
    [
      'elicitation/create',
      { message: 'm', requestedSchema: { type: 'string' } },
      'params.requestedSchema.type must be "object", got another string',
    ],
    [
      'elicitation/create',
      { message: 'm', requestedSchema: { type: 'object' } },
      'params.requestedSchema.properties must be an object, got nothing',
    ],
    [
      'elicitation/create',
      { message: 'm', requestedSchema: { ...form, required: 'env' } },
      'params.requestedSchema.required must be an array of strings, got string',
    ],
  ],
  'a mode of elicitation that does not exist [ELIC-033]': [
    ['elicitation/create', { ...ask, mode: 'voice' }, 'params.mode must be "form" or "url", got another string'],
    ['elicitation/create', { ...ask, mode: null }, 'params.mode must be "form" or "url", got null'],
  ],
  'url mode without a url [ELIC-022]': [
    ['elicitation/create', { mode: 'url', message: 'm' }, 'params.url must be a string, got nothing'],
    [
      'elicitation/create',
      { mode: 'url', message: 'm', url: 'https://a.example/', elicitationId: 1 },
      'params.elicitationId must be a string, got number',
    ],
  ],
  'an elicitation completion without its id [ELIC-026]': [
    ['notifications/elicitation/complete', {}, 'params.elicitationId must be a string, got nothing'],
  ],
  'a malformed cancellation [CANC-009]': [
    ['notifications/cancelled', { requestId: null }, 'params.requestId must be a string or a safe integer, got null'],
    ['notifications/cancelled', { requestId: 1.5 }, 'params.requestId must be a string or a safe integer, got number'],
    ['notifications/cancelled', { requestId: 1, reason: {} }, 'params.reason must be a string, got object'],
  ],
  'a progress notification without token or number [PROG-003]': [
    ['notifications/progress', {}, 'params.progressToken must be a string or a safe integer, got nothing'],
    ['notifications/progress', { progressToken: 1 }, 'params.progress must be a finite number, got nothing'],
    [
      'notifications/progress',
      { progressToken: 1, progress: Number.POSITIVE_INFINITY },
      'params.progress must be a finite number, got number',
    ],
    [
      'notifications/progress',
      { progressToken: 1, progress: 1, total: '2' },
      'params.total must be a finite number, got string',
    ],
    [
      'notifications/progress',
      { progressToken: 1, progress: 1, message: 2 },
      'params.message must be a string, got number',
    ],
  ],
  'a task status notification that is not a whole task [TASK-021]': [
    ['notifications/tasks/status', {}, 'params.taskId must be a string, got nothing'],
    [
      'notifications/tasks/status',
      { ...legacyTask, status: 'done' },
      `params.status must be ${oneOfStatuses}, got another string`,
    ],
    [
      'notifications/tasks/status',
      { ...legacyTask, statusMessage: 1 },
      'params.statusMessage must be a string, got number',
    ],
    ['notifications/tasks/status', { ...legacyTask, createdAt: 1 }, 'params.createdAt must be a string, got number'],
    [
      'notifications/tasks/status',
      { ...legacyTask, lastUpdatedAt: undefined },
      'params.lastUpdatedAt must be a string, got nothing',
    ],
    ['notifications/tasks/status', taskBase, 'params.ttl must be a finite number or null, got nothing'],
    [
      'notifications/tasks/status',
      { ...legacyTask, pollInterval: '1' },
      'params.pollInterval must be a finite number, got string',
    ],
  ],
  'a task notification that lacks what its status brings along [XTASK-034]': [
    ['notifications/tasks', taskBase, 'params.ttlMs must be a finite number or null, got nothing'],
    [
      'notifications/tasks',
      { ...task, pollIntervalMs: null },
      'params.pollIntervalMs must be a finite number, got null',
    ],
    [
      'notifications/tasks',
      { ...task, status: 'input_required' },
      'params.inputRequests must be an object, got nothing',
    ],
    ['notifications/tasks', { ...task, status: 'completed' }, 'params.result must be an object, got nothing'],
    ['notifications/tasks', { ...task, status: 'failed' }, 'params.error must be an object, got nothing'],
    [
      'notifications/tasks',
      { ...task, status: 'failed', error: { code: 1.5, message: 'm' } },
      'params.error.code must be an integer, got number',
    ],
    [
      'notifications/tasks',
      { ...task, status: 'failed', error: { code: 1 } },
      'params.error.message must be a string, got nothing',
    ],
  ],
}

describe('a params check', () => {
  for (const [topic, rows] of Object.entries(refusals)) {
    it(`refuses ${topic}`, () => {
      for (const [method, params, problem] of rows) expect(check(method, params)).toBe(problem)
    })
  }

  it('accepts a cancellation without request id, as 2025-11-25 does [CANC-006]', () => {
    expect(check('notifications/cancelled', {})).toBeUndefined()
  })

  it('leaves answers to questions that were not asked to whoever asked [MRTR-024]', () => {
    expect(check('tools/call', { name: 'a', inputResponses: { stray: 5 } })).toBeUndefined()
  })

  it('never repeats a value or an argument name of the peer', () => {
    const secret = 'hunter2'
    const problems = [
      check('logging/setLevel', { level: secret }),
      check('prompts/get', { name: 'p', arguments: { [secret]: 1 } }),
      check('elicitation/create', { message: secret, mode: secret }),
      check('completion/complete', { ref: { type: secret } }),
    ]
    for (const problem of problems) {
      expect(problem).toMatch(/^params\./)
      expect(problem).not.toContain(secret)
    }
  })
})

const revisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28']

describe.skipIf(!schemas).each(revisions)('beside the official schema of %s', (revision) => {
  const schema = loadSchema(revision)

  it.each([...schema.params.keys()])('%s has a valid example, and the check accepts it', (method) => {
    expect(paramsChecks.has(method)).toBe(true)
    const least = schema.examplesOf(method)[0]!
    expect(schema.accepts(method, least)).toBe(true)
    expect(check(method, least)).toBeUndefined()
  })

  it.each([...schema.params.keys()])('%s is refused without a required member', (method) => {
    for (const example of schema.examplesOf(method)) {
      for (const key of Object.keys(example)) {
        const rest: JsonObject = { ...example }
        delete rest[key]
        // What 2026-07-28 requires of _meta is looked at where the caller is identified, not here; the id of a
        // cancellation may be absent in 2025-11-25, and so everywhere.
        if (key === '_meta' || key === 'requestId' || schema.accepts(method, rest)) continue
        // 2025-11-25 requires an elicitation id that no other revision has.
        if (key === 'elicitationId' && method === 'elicitation/create') continue
        expect(check(method, rest), key).toBeDefined()
      }
    }
  })

  it.each([...schema.params.keys()])('%s is never refused where the schema accepts it', (method) => {
    for (const example of schema.examplesOf(method)) {
      for (const mutant of mutantsOf(example)) {
        const problem = check(method, mutant)
        if (problem !== undefined) expect(schema.accepts(method, mutant), problem).toBe(false)
      }
    }
  })
})

/** Copies of the value with one part of it, at any depth, replaced by something of another kind. */
function* mutantsOf<T extends object>(value: T): Generator<T> {
  for (const [key, member] of Object.entries(value)) {
    const put = (other: unknown): T =>
      (Array.isArray(value) ? value.with(Number(key), other) : { ...value, [key]: other }) as T
    for (const other of [null, true, 3, 0.5, 'text', [], {}, ['text'], { a: 1 }]) yield put(other)
    if (typeof member === 'object' && member !== null) for (const other of mutantsOf(member)) yield put(other)
  }
}

function loadSchema(revision: string) {
  if (!schemas) return { params: new Map<string, JsonObject>(), examplesOf: () => [], accepts: () => true }
  const document = JSON.parse(readFileSync(join(schemas, `${revision}.json`), 'utf8'))
  const definitions: Record<string, JsonObject> = document.$defs ?? document.definitions

  const params = new Map<string, JsonObject>()
  for (const definition of Object.values(definitions)) {
    const properties = definition.properties as Record<string, JsonObject> | undefined
    const method = properties?.method?.const
    if (typeof method === 'string') params.set(method, properties?.params ?? {})
  }

  /** The examples of a method, cut down to the members this revision knows. */
  function examplesOf(method: string): JsonObject[] {
    const known = membersOf(params.get(method) ?? {})
    const found: JsonObject[] = []
    for (const [name, example] of cases) {
      if (name !== method) continue
      const cut = Object.fromEntries(Object.entries(example).filter(([key]) => known.has(key)))
      if (known.has('_meta')) cut._meta = metaFor(method)
      if (accepts(method, cut)) found.push(cut)
    }
    return found
  }

  function metaFor(method: string): JsonObject {
    if (revision !== '2026-07-28') return { progressToken: 1 }
    // There roots/list is a question inside a result: nobody reports progress on it, and its _meta is free.
    return method === 'roots/list' ? {} : { ...modernMeta, progressToken: 1 }
  }

  function membersOf(node: JsonObject): Set<string> {
    const target = resolve(node)
    const members = new Set(Object.keys(target.properties ?? {}))
    for (const part of [...list(target.allOf), ...list(target.anyOf)]) {
      for (const key of membersOf(part)) members.add(key)
    }
    return members
  }

  function accepts(method: string, value: unknown): boolean {
    return fits(params.get(method) ?? {}, value)
  }

  /** The few keywords the official schemas use; formats are left alone. */
  function fits(node: JsonObject, value: unknown): boolean {
    const s = resolve(node)
    if ('const' in s && s.const !== value) return false
    if (Array.isArray(s.enum) && !s.enum.includes(value)) return false
    if (s.type !== undefined && ![s.type].flat().some((type) => isOfType(type, value))) return false
    if (s.allOf && !list(s.allOf).every((part) => fits(part, value))) return false
    if (s.anyOf && !list(s.anyOf).some((part) => fits(part, value))) return false
    if (Array.isArray(value)) return !isObject(s.items) || value.every((item) => fits(s.items as JsonObject, item))
    if (!isObject(value)) return true
    const properties = (s.properties ?? {}) as Record<string, JsonObject>
    if (list(s.required).some((key) => value[key as unknown as string] === undefined)) return false
    return Object.entries(value).every(([key, member]) => {
      const rule = Object.hasOwn(properties, key) ? properties[key] : s.additionalProperties
      return !isObject(rule) || member === undefined || fits(rule, member)
    })
  }

  function resolve(node: JsonObject): JsonObject {
    return typeof node.$ref === 'string' ? resolve(definitions[node.$ref.split('/').at(-1)!]!) : node
  }

  return { params, examplesOf, accepts }
}

const modernMeta = {
  [metaKeys.protocolVersion]: '2026-07-28',
  [metaKeys.clientCapabilities]: {},
}

function list(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value : []
}

function isOfType(type: unknown, value: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'object') return isObject(value)
  if (type === 'array') return Array.isArray(value)
  return type === 'null' ? value === null : typeof value === type
}
