import { moveRefs } from '../../schema/move-refs.ts'
import { isObject, type JsonObject, omit } from '../../util/objects.ts'
import type { RevisionData } from '../revision.ts'
import { tasksExtension } from '../tasks.ts'
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
  multiRoundTrip: false,
  describesCaller: false,
  traceFormat: false,
  missingCapability: 'result',
  objectOutput: true,
  primesStreams: true,
  mirrorsHeaders: false,
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
    // Tasks are a capability in this revision, not an extension (tasks extension, backwards compatibility).
    initialize: (result) => ({ ...result, capabilities: withoutTasksExtension(result.capabilities as JsonObject) }),
    'resources/list': withoutHints,
    'resources/templates/list': withoutHints,
    'resources/read': withoutHints,
    'prompts/list': withoutHints,
    // Until 2025-11-25 the root of an output schema, and structured content itself, is an object.
    'tools/list': (result) => mapItems(withoutHints(result), 'tools', withObjectSchema),
    'tools/call': withObjectResult,
  },
  params: {
    'sampling/createMessage': (params) =>
      mapItems(mapItems(params, 'messages', withObjectResults), 'tools', withObjectSchema),
  },
}

function withoutTasksExtension({ extensions, ...capabilities }: JsonObject): JsonObject {
  if (!isObject(extensions)) return capabilities
  const others = omit(extensions, [tasksExtension])
  return Object.keys(others).length > 0 ? { ...capabilities, extensions: others } : capabilities
}

/** Wraps other output schemas in an object with the member `result`. Values are wrapped in the same way. */
function withObjectSchema(tool: JsonObject): JsonObject {
  const output = tool.outputSchema
  if (!isObject(output) || output.type === 'object') return tool
  const { $schema, ...result } = output
  return {
    ...tool,
    outputSchema: {
      ...($schema !== undefined && { $schema }),
      type: 'object',
      properties: { result: moveRefs(result, '#/properties/result') },
      required: ['result'],
    },
  }
}

function withObjectResults(message: JsonObject): JsonObject {
  const { content } = message
  return {
    ...message,
    content: Array.isArray(content) ? content.map(withObjectResult) : withObjectResult(content as JsonObject),
  }
}

function withObjectResult(result: JsonObject): JsonObject {
  const { structuredContent } = result
  if (structuredContent === undefined || isObject(structuredContent)) return result
  return { ...result, structuredContent: { result: structuredContent } }
}
