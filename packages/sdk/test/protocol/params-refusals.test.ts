import { describe, expect, it } from 'vitest'
import { check, examples, form, hello, legacyTask, task, taskBase } from './params-support.ts'

describe('params checks', () => {
  for (const [topic, rows] of Object.entries(refusals)) {
    it(`refuses ${topic}`, () => {
      for (const [method, params, problem] of rows) expect(check(method, params)).toBe(problem)
    })
  }

  it('accepts a cancellation without request id, as 2025-11-25 does [CANC-006]', () => {
    expect(check('notifications/cancelled', {})).toBeUndefined()
  })

  it('leaves unrequested input responses to the code that asked [MRTR-024]', () => {
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

const initialize = examples.initialize[0]!
const complete = examples['completion/complete'][0]!
const sample = examples['sampling/createMessage'][0]!
const ask = { message: 'Where?', requestedSchema: form }
const oneOfLevels = 'one of debug, info, notice, warning, error, critical, alert, emergency'
const oneOfStatuses = 'one of working, input_required, completed, failed, cancelled'

/** The expected problems by topic: method, params, message. */
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
