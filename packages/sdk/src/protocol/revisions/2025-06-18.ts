import { type JsonObject, omit, pick } from '../../util/objects.ts'
import { downgradeForm } from '../downgrade-form.ts'
import type { ElicitSchema } from '../elicitation.ts'
import type { RevisionData } from '../revision.ts'
import type { CreateMessageResult, SamplingMessage } from '../sampling.ts'
import { singleContent, splitMessages } from '../sampling-check.ts'
import { withoutFields, withoutMembers } from './steps.ts'

const implementation = (info: unknown) => pick(info as JsonObject, ['name', 'version', 'title'])

export const revision: RevisionData = {
  id: '2025-06-18',
  era: 'handshake',
  batching: false,
  omitsUnknownId: false,
  argumentErrors: 'protocol',
  resourceNotFound: -32002,
  announcesCompletions: true,
  asks: ['form'],
  multiRoundTrip: false,
  describesCaller: false,
  traceFormat: false,
  missingCapability: 'result',
  objectOutput: true,
  primesStreams: false,
  mirrorsHeaders: false,
  adds: [],
  removes: [
    'tasks/get',
    'tasks/result',
    'tasks/list',
    'tasks/cancel',
    'notifications/tasks/status',
    'notifications/elicitation/complete',
  ],
  results: {
    initialize: (result) => ({
      ...result,
      serverInfo: implementation(result.serverInfo),
      capabilities: withoutMembers(result.capabilities, ['tasks']),
    }),
    'tools/list': withoutFields('tools', ['icons', 'execution']),
    'prompts/list': withoutFields('prompts', ['icons']),
    'resources/list': withoutFields('resources', ['icons']),
    'resources/templates/list': withoutFields('resourceTemplates', ['icons']),
    'sampling/createMessage': (result) => ({
      ...result,
      content: singleContent(result.content as CreateMessageResult['content']),
    }),
  },
  params: {
    initialize: (params) => ({
      ...params,
      clientInfo: implementation(params.clientInfo),
      capabilities: downgradeCapabilities(params.capabilities as JsonObject),
    }),
    'elicitation/create': ({ mode: _mode, ...params }) => ({
      ...params,
      requestedSchema: downgradeForm(params.requestedSchema as ElicitSchema),
    }),
    'sampling/createMessage': (params) => ({
      ...omit(params, ['tools', 'toolChoice']),
      messages: splitMessages(params.messages as SamplingMessage[]),
    }),
  },
}

/** Elicitation supports forms only, neither elicitation nor sampling has members, and there are no tasks. */
function downgradeCapabilities(capabilities: JsonObject): JsonObject {
  const { form, url } = (capabilities.elicitation ?? {}) as JsonObject
  const hasForms = capabilities.elicitation !== undefined && (form !== undefined || url === undefined)
  return {
    ...omit(capabilities, ['tasks', 'elicitation']),
    ...(hasForms && { elicitation: {} }),
    ...(capabilities.sampling !== undefined && { sampling: {} }),
  }
}
