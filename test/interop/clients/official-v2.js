import { EventEmitter } from 'node:events'
import {
  Client,
  LOG_LEVEL_META_KEY,
  SdkErrorCode,
  SSEClientTransport,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { capabilitiesOf, methodsOf } from './answers.js'

/**
 * The official v2 client with the interface that the tests use. The target is a program, or `{ url, isSse }`; the
 * revision is a fixed one, or 'auto' for its own negotiation.
 */
export async function connectOfficialV2(target, revision, answers = {}) {
  const capabilities = capabilitiesOf(answers)
  const client = new Client({ name: 'official-v2', version: '1.0.0' }, { ...speaking(revision), capabilities })
  for (const [method, answer] of Object.entries(methodsOf(answers))) {
    client.setRequestHandler(method, ({ params }, { mcpReq: { signal } }) => answer(params, { signal }))
  }
  const transport = createTransport(target)
  await client.connect(transport)
  const isModern = client.getProtocolEra() === 'modern'
  const events = new EventEmitter()
  const forward = (method, emit) => client.setNotificationHandler(method, ({ params }) => emit(params))
  forward('notifications/tools/list_changed', () => events.emit('tools'))
  forward('notifications/prompts/list_changed', () => events.emit('prompts'))
  forward('notifications/resources/list_changed', () => events.emit('resources'))
  forward('notifications/resources/updated', ({ uri }) => events.emit('updated', uri))
  forward('notifications/message', ({ level, data }) => events.emit('log', { level, data }))
  forward('notifications/elicitation/complete', ({ elicitationId }) => events.emit('complete', elicitationId))
  const subscriptions = new Map()
  let meta
  return {
    events,
    revision: client.getNegotiatedProtocolVersion(),
    info: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions(),
    call: (name, args, { signal, onProgress } = {}) =>
      client.callTool({ name, arguments: args, ...(meta && { _meta: meta }) }, { signal, onprogress: onProgress }),
    tools: async () => (await client.listTools()).tools,
    // Without a cursor listTools() would collect all pages.
    pageOfTools: (cursor) => client.request({ method: 'tools/list', params: { cursor } }),
    resources: async () => (await client.listResources()).resources,
    templates: async () => (await client.listResourceTemplates()).resourceTemplates,
    prompts: async () => (await client.listPrompts()).prompts,
    read: (uri) => client.readResource({ uri }),
    prompt: (name, args) => client.getPrompt({ name, arguments: args }),
    complete: async (params) => (await client.complete(params)).completion,
    setLogLevel: async (level) => {
      if (isModern) meta = { [LOG_LEVEL_META_KEY]: level }
      else await client.setLoggingLevel(level)
    },
    hearChanges: async () => {
      if (!isModern) return undefined
      const all = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
      return (await client.listen(all)).honoredFilter
    },
    subscribe: async (uri) => {
      if (isModern) subscriptions.set(uri, await client.listen({ resourceSubscriptions: [uri] }))
      else await client.subscribeResource({ uri })
    },
    unsubscribe: async (uri) => {
      if (isModern) await subscriptions.get(uri).close()
      else await client.unsubscribeResource({ uri })
    },
    setRoots: async (roots) => {
      answers.roots = () => roots
      if (!isModern) await client.sendRootsListChanged()
    },
    // 2026-07-28 has no ping.
    ping: () => (isModern ? client.discover() : client.ping()),
    sessionId: () => transport.sessionId,
    close: async () => {
      await transport.terminateSession?.()
      await client.close()
    },
    rpcCode: (error) => error.code,
    // It reports -32002, the code of earlier revisions, as the code of 2026-07-28.
    notFoundCode: -32602,
    isCancelled: (error) => error.name === 'AbortError' || error.code === SdkErrorCode.RequestTimeout,
    isBadOutput: (error) => /does not match the tool's output schema/.test(error.message),
  }
}

function createTransport(target) {
  if (!target.url) return new StdioClientTransport({ ...target, stderr: 'ignore' })
  return new (target.isSse ? SSEClientTransport : StreamableHTTPClientTransport)(target.url)
}

function speaking(revision) {
  if (revision === 'auto') return { versionNegotiation: { mode: 'auto' } }
  if (revision === '2026-07-28') return { versionNegotiation: { mode: { pin: revision } } }
  return { supportedProtocolVersions: [revision], versionNegotiation: { mode: 'legacy' } }
}
