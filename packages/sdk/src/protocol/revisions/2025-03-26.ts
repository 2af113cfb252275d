import { type JsonObject, omit, pick } from '../../util/objects.ts'
import type { RevisionData } from '../revision.ts'
import { mapContents, mapItems, mapToolContent, withoutFields, withoutMembers } from './steps.ts'

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
  missingCapability: 'result',
  objectOutput: true,
  primesStreams: false,
  adds: [],
  removes: ['elicitation/create'],
  results: {
    initialize: (result) => ({ ...result, serverInfo: implementation(result.serverInfo) }),
    'tools/list': withoutFields('tools', ['title', 'outputSchema']),
    'prompts/list': (result) => mapItems(result, 'prompts', olderPrompt),
    'resources/list': (result) => mapItems(result, 'resources', olderResource),
    'resources/templates/list': (result) => mapItems(result, 'resourceTemplates', olderResource),
    // Tools answered in content blocks only.
    'tools/call': (result) =>
      mapToolContent(result.structuredContent === undefined ? result : omit(result, ['structuredContent']), olderBlock),
    'prompts/get': (result) => mapContents(result, olderBlock),
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

function olderPrompt(prompt: JsonObject): JsonObject {
  return mapItems(omit(prompt, ['title']), 'arguments', (argument) => omit(argument, ['title']))
}

function olderResource(resource: JsonObject): JsonObject {
  return olderAnnotations(omit(resource, ['title']))
}

function olderAnnotations(item: JsonObject): JsonObject {
  const annotations = item.annotations as JsonObject | undefined
  return annotations?.lastModified === undefined ? item : { ...item, annotations: omit(annotations, ['lastModified']) }
}

/** Clients of this time reject a link block, so a link is told in words. */
function olderBlock(block: JsonObject): JsonObject {
  if (block.type === 'resource_link') return { type: 'text', text: `${block.title ?? block.name}: ${block.uri}` }
  return olderAnnotations(block)
}
