import { isObject, type JsonObject, omit } from '../../util/objects.ts'
import type { RevisionData } from '../revision.ts'
import { tasksExtension } from '../types.ts'
import { mapItems } from './steps.ts'

const withoutHints = (result: JsonObject) => omit(result, ['ttlMs', 'cacheScope'])

export const revision: RevisionData = {
  id: '2025-11-25',
  era: 'handshake',
  batching: false,
  omitsUnknownId: true,
  argumentErrors: 'result',
  resourceNotFound: -32002,
  announcesCompletions: true,
  asks: ['form', 'url', 'tools'],
  missingCapability: 'result',
  primesStreams: true,
  adds: [
    'initialize',
    'ping',
    'logging/setLevel',
    'resources/subscribe',
    'resources/unsubscribe',
    'sampling/createMessage',
    'roots/list',
    'elicitation/create',
    'tasks/result',
    'tasks/list',
    'notifications/initialized',
    'notifications/roots/list_changed',
    'notifications/elicitation/complete',
    'notifications/tasks/status',
  ],
  removes: [
    'server/discover',
    'subscriptions/listen',
    'tasks/update',
    'notifications/tasks',
    'notifications/subscriptions/acknowledged',
  ],
  results: {
    // The tasks of this revision are a capability of their own (tasks extension, backwards compatibility).
    initialize: (result) => ({ ...result, capabilities: withoutTasksExtension(result.capabilities as JsonObject) }),
    'resources/list': withoutHints,
    'resources/templates/list': withoutHints,
    'resources/read': withoutHints,
    'prompts/list': withoutHints,
    // Until 2025-11-25 the root of an output schema, and structured content itself, is an object.
    'tools/list': (result) => mapItems(withoutHints(result), 'tools', withObjectOutputOnly),
    'tools/call': (result) =>
      result.structuredContent === undefined || isObject(result.structuredContent)
        ? result
        : omit(result, ['structuredContent']),
  },
  params: {
    'sampling/createMessage': (params) =>
      mapItems(mapItems(params, 'messages', withObjectResults), 'tools', withObjectOutputOnly),
  },
}

function withoutTasksExtension({ extensions, ...capabilities }: JsonObject): JsonObject {
  if (!isObject(extensions)) return capabilities
  const others = omit(extensions, [tasksExtension])
  return Object.keys(others).length > 0 ? { ...capabilities, extensions: others } : capabilities
}

function withObjectOutputOnly(tool: JsonObject): JsonObject {
  const output = tool.outputSchema
  return output === undefined || (isObject(output) && output.type === 'object') ? tool : omit(tool, ['outputSchema'])
}

function withObjectResults(message: JsonObject): JsonObject {
  const { content } = message
  return {
    ...message,
    content: Array.isArray(content) ? content.map(withObjectResult) : withObjectResult(content as JsonObject),
  }
}

function withObjectResult(block: JsonObject): JsonObject {
  const { structuredContent } = block
  return structuredContent === undefined || isObject(structuredContent) ? block : omit(block, ['structuredContent'])
}
