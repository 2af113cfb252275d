import { type JsonObject, omit, pick } from '../../util/objects.ts'
import type { RevisionData } from '../revision.ts'
import { asText, mapContents, mapItems, mapToolContent, withoutFields, withoutMembers } from './steps.ts'

const implementation = (info: unknown) => pick(info as JsonObject, ['name', 'version'])

export const revision: RevisionData = {
  id: '2025-03-26',
  era: 'handshake',
  batching: true,
  omitsUnknownId: false,
  argumentErrors: 'protocol',
  resourceNotFound: -32002,
  announcesCompletions: true,
  asks: [],
  multiRoundTrip: false,
  describesCaller: false,
  traceFormat: false,
  missingCapability: 'result',
  objectOutput: true,
  primesStreams: false,
  mirrorsHeaders: false,
  adds: [],
  removes: ['elicitation/create'],
  results: {
    initialize: (result) => ({ ...result, serverInfo: implementation(result.serverInfo) }),
    'tools/list': withoutFields('tools', ['title', 'outputSchema']),
    'prompts/list': (result) => mapItems(result, 'prompts', downgradePrompt),
    'resources/list': (result) => mapItems(result, 'resources', downgradeResource),
    'resources/templates/list': (result) => mapItems(result, 'resourceTemplates', downgradeResource),
    // Tool results have content blocks only.
    'tools/call': (result) =>
      mapToolContent(
        result.structuredContent === undefined ? result : omit(result, ['structuredContent']),
        downgradeBlock,
      ),
    'prompts/get': (result) => mapContents(result, downgradeBlock),
  },
  params: {
    initialize: (params) => ({
      ...params,
      clientInfo: implementation(params.clientInfo),
      capabilities: withoutMembers(params.capabilities, ['elicitation']),
    }),
    'completion/complete': (params) => omit(params, ['context']),
  },
}

function downgradePrompt(prompt: JsonObject): JsonObject {
  return mapItems(omit(prompt, ['title']), 'arguments', (argument) => omit(argument, ['title']))
}

function downgradeResource(resource: JsonObject): JsonObject {
  return downgradeAnnotations(omit(resource, ['title']))
}

function downgradeAnnotations(item: JsonObject): JsonObject {
  const annotations = item.annotations as JsonObject | undefined
  return annotations?.lastModified === undefined ? item : { ...item, annotations: omit(annotations, ['lastModified']) }
}

/** Clients of this revision reject link blocks, so a link is described as text. */
function downgradeBlock(block: JsonObject): JsonObject {
  if (block.type === 'resource_link')
    return downgradeAnnotations(asText(block, `${block.title ?? block.name}: ${block.uri}`))
  return downgradeAnnotations(block)
}
