import { EventEmitter } from 'node:events'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import * as types from '@modelcontextprotocol/sdk/types.js'
import { capabilitiesOf, methodsOf } from './answers.js'

const askedBy = {
  'elicitation/create': types.ElicitRequestSchema,
  'sampling/createMessage': types.CreateMessageRequestSchema,
  'roots/list': types.ListRootsRequestSchema,
}

/** The official v1 client with the interface that the tests use. The target is a program, or `{ url, isSse }`. */
export async function connectOfficialV1(target, revision = types.LATEST_PROTOCOL_VERSION, answers = {}) {
  const client = new Client({ name: 'official-v1', version: '1.0.0' }, { capabilities: capabilitiesOf(answers) })
  for (const [method, answer] of Object.entries(methodsOf(answers))) {
    client.setRequestHandler(askedBy[method], ({ params }, { signal }) => answer(params, { signal }))
  }
  const transport = createTransport(target, revision)
  await client.connect(transport)
  const events = new EventEmitter()
  const forward = (schema, emit) => client.setNotificationHandler(schema, ({ params }) => emit(params))
  forward(types.ToolListChangedNotificationSchema, () => events.emit('tools'))
  forward(types.PromptListChangedNotificationSchema, () => events.emit('prompts'))
  forward(types.ResourceListChangedNotificationSchema, () => events.emit('resources'))
  forward(types.ResourceUpdatedNotificationSchema, ({ uri }) => events.emit('updated', uri))
  forward(types.LoggingMessageNotificationSchema, ({ level, data }) => events.emit('log', { level, data }))
  forward(types.ElicitationCompleteNotificationSchema, ({ elicitationId }) => events.emit('complete', elicitationId))
  return {
    events,
    revision: transport.agreed,
    info: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions(),
    call: (name, args, { signal, onProgress } = {}) =>
      client.callTool({ name, arguments: args }, undefined, { signal, onprogress: onProgress }),
    tools: () => all('tools', (params) => client.listTools(params)),
    pageOfTools: (cursor) => client.listTools({ cursor }),
    resources: () => all('resources', (params) => client.listResources(params)),
    templates: () => all('resourceTemplates', (params) => client.listResourceTemplates(params)),
    prompts: () => all('prompts', (params) => client.listPrompts(params)),
    read: (uri) => client.readResource({ uri }),
    prompt: (name, args) => client.getPrompt({ name, arguments: args }),
    complete: async (params) => (await client.complete(params)).completion,
    setLogLevel: (level) => client.setLoggingLevel(level),
    hearChanges: async () => {},
    subscribe: (uri) => client.subscribeResource({ uri }),
    unsubscribe: (uri) => client.unsubscribeResource({ uri }),
    setRoots: async (roots) => {
      answers.roots = () => roots
      await client.sendRootsListChanged()
    },
    ping: () => client.ping(),
    sessionId: () => transport.sessionId,
    close: async () => {
      await transport.terminateSession?.()
      await client.close()
    },
    rpcCode: (error) => error.code,
    isCancelled: (error) => error.name === 'AbortError' || /abort/i.test(String(error.message)),
    isBadOutput: (error) => /does not match the tool's output schema/.test(error.message),
  }
}

function createTransport(target, revision) {
  if (!target.url) return new (asking(StdioClientTransport, revision))({ ...target, stderr: 'ignore' })
  return new (asking(target.isSse ? SSEClientTransport : StreamableHTTPClientTransport, revision))(target.url)
}

/** v1 always requests its newest revision. This requests another one, and records the negotiated revision. */
function asking(Transport, revision) {
  return class extends Transport {
    agreed

    send(message, options) {
      if (message.method !== 'initialize') return super.send(message, options)
      return super.send({ ...message, params: { ...message.params, protocolVersion: revision } }, options)
    }

    setProtocolVersion(version) {
      this.agreed = version
      super.setProtocolVersion?.(version)
    }
  }
}

async function all(member, list) {
  const items = []
  let cursor
  do {
    const page = await list({ cursor })
    items.push(...page[member])
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return items
}
