import type { RevisionData } from '../revision.ts'
import { withoutFields, withoutMembers } from './steps.ts'

export const revision: RevisionData = {
  id: '2026-07-28',
  era: 'stateless',
  batching: false,
  omitsUnknownId: true,
  argumentErrors: 'result',
  resourceNotFound: -32602,
  announcesCompletions: true,
  asks: ['form', 'url', 'tools'],
  missingCapability: 'protocol',
  objectOutput: false,
  primesStreams: false,
  deprecates: ['roots', 'sampling', 'logging'],
  adds: [
    'server/discover',
    'subscriptions/listen',
    'resources/list',
    'resources/templates/list',
    'resources/read',
    'prompts/list',
    'prompts/get',
    'tools/list',
    'tools/call',
    'completion/complete',
    'notifications/cancelled',
    'notifications/progress',
    'notifications/message',
    'notifications/resources/list_changed',
    'notifications/resources/updated',
    'notifications/prompts/list_changed',
    'notifications/tools/list_changed',
    'notifications/subscriptions/acknowledged',
    // The tasks extension.
    'tasks/get',
    'tasks/update',
    'tasks/cancel',
    'notifications/tasks',
  ],
  removes: [],
  // 2026-07-28 server/tools: `execution` went with the experimental tasks of 2025-11-25.
  ownResults: {
    'tools/list': withoutFields('tools', ['execution']),
    'server/discover': (result) => ({ ...result, capabilities: withoutMembers(result.capabilities, ['tasks']) }),
  },
}
