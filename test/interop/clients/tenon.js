import { EventEmitter } from 'node:events'
import { connect, SSEClientTransport, StreamableHTTPClientTransport } from 'tenon/client'

const allLists = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }

/**
 * The Tenon client with the interface that the tests use. The target is a program, or `{ url, isSse }`; without a
 * revision it negotiates one.
 */
export async function connectTenon(target, revision, answers = {}) {
  const transport = target.url ? createTransport(target) : target
  const capabilities = answers.sample ? { sampling: { tools: {} } } : {}
  const client = await connect(transport, { ...(revision && { revision }), handlers: answers, capabilities })
  const events = new EventEmitter()
  client.on('toolsChanged', () => events.emit('tools'))
  client.on('promptsChanged', () => events.emit('prompts'))
  client.on('resourcesChanged', () => events.emit('resources'))
  client.on('resourceUpdated', ({ uri }) => events.emit('updated', uri))
  client.on('log', ({ level, data }) => events.emit('log', { level, data }))
  client.on('elicitationComplete', ({ elicitationId }) => events.emit('complete', elicitationId))
  return {
    events,
    revision: client.revision,
    info: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions(),
    call: (name, args, options) => client.callTool(name, args, options),
    tools: () => client.listTools().all(),
    pageOfTools: (cursor) => client.listTools({ cursor }),
    resources: () => client.listResources().all(),
    templates: () => client.listResourceTemplates().all(),
    prompts: () => client.listPrompts().all(),
    read: (uri) => client.readResource(uri),
    prompt: (name, args) => client.getPrompt(name, args),
    complete: (params) => client.complete(params),
    setLogLevel: (level) => client.setLoggingLevel(level),
    hearChanges: async () => (await client.listen(allLists)).honoured,
    subscribe: (uri) => client.subscribeResource(uri),
    unsubscribe: (uri) => client.unsubscribeResource(uri),
    setRoots: async (roots) => client.setRoots(roots),
    request: (method, params) => client.request(method, params),
    ping: () => client.ping(),
    sessionId: () => transport.sessionId,
    close: () => client.close(),
    // Describes the errors of this client.
    rpcCode: (error) => error.rpcCode,
    isCancelled: (error) => error.code === 'cancelled',
    isBadOutput: (error) => error.code === 'invalid-output',
  }
}

function createTransport({ url, isSse }) {
  return new (isSse ? SSEClientTransport : StreamableHTTPClientTransport)(url)
}
