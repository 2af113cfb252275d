import { type JsonObject, omit } from '../../util/objects.ts'
import type { RevisionData } from '../revision.ts'
import { asText, mapContents, mapToolContent, withoutFields, withoutMembers } from './steps.ts'

export const revision: RevisionData = {
  id: '2024-11-05',
  era: 'handshake',
  batching: false,
  omitsUnknownId: false,
  argumentErrors: 'protocol',
  resourceNotFound: -32002,
  announcesCompletions: false,
  asks: [],
  multiRoundTrip: false,
  describesCaller: false,
  traceFormat: false,
  missingCapability: 'result',
  objectOutput: true,
  primesStreams: false,
  mirrorsHeaders: false,
  adds: [],
  removes: [],
  results: {
    // Completion has no capability in this revision.
    initialize: (result) => ({ ...result, capabilities: withoutMembers(result.capabilities, ['completions']) }),
    'tools/list': withoutFields('tools', ['annotations']),
    'tools/call': (result) => mapToolContent(result, withoutAudio),
    'prompts/get': (result) => mapContents(result, withoutAudio),
    'sampling/createMessage': (result) => ({ ...result, content: withoutAudio(result.content as JsonObject) }),
  },
  params: {
    'sampling/createMessage': (params) => mapContents(params, withoutAudio),
    'notifications/progress': (params) => (params.message === undefined ? params : omit(params, ['message'])),
  },
}

/** Clients of this revision reject audio blocks, so audio is described as text. */
function withoutAudio(block: JsonObject): JsonObject {
  return block.type === 'audio' ? asText(block, `[audio, ${block.mimeType}]`) : block
}
