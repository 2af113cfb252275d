// Uses one agent library as its documentation shows, and prints what it got as JSON:
//   node applications.js langchain stdio node server.js
//   node applications.js langchain http http://localhost:3000/mcp
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

/** Each lists the tools of a server and calls some. `server` has a command and arguments, or a URL. */
const applications = {
  async langchain(server) {
    const { MultiServerMCPClient } = await import('@langchain/mcp-adapters')
    const connection = server.url ? { transport: 'http', url: server.url } : { transport: 'stdio', ...server }
    const client = new MultiServerMCPClient({ mcpServers: { everything: connection } })
    try {
      const tools = await client.getTools()
      const named = (name) => tools.find((tool) => tool.name === name)
      // What it hands out is a wrapper of the client of the SDK.
      const inner = await client.getClient('everything')
      return {
        tools: tools.map(({ name, description, schema }) => ({ name, description, schema })),
        echo: await named('echo').invoke({ message: 'hello' }),
        structured: await named('get-structured-content').invoke({ location: 'New York' }),
        invalid: await outcomeOf(named('get-sum').invoke({ a: 'two', b: 3 })),
        prompts: await inner.listPrompts(),
        server: inner.getServerVersion(),
      }
    } finally {
      await client.close()
    }
  },

  async mastra(server) {
    const { MCPClient } = await import('@mastra/mcp')
    const target = server.url ? { url: new URL(server.url) } : server
    const client = new MCPClient({ id: 'everything', servers: { everything: target } })
    try {
      const tools = await client.getTools()
      const call = (name, context) => tools[`everything_${name}`].execute({ context })
      return {
        tools: Object.values(tools).map(({ id, description }) => ({ id, description })),
        echo: await call('echo', { message: 'hello' }),
        invalid: await outcomeOf(call('get-sum', { a: 'two', b: 3 })),
        prompts: await client.prompts.list(),
        resources: await client.resources.list(),
      }
    } finally {
      await client.disconnect()
    }
  },

  async 'mcp-use'(server) {
    const { MCPClient } = await import('mcp-use/client')
    const client = MCPClient.fromDict({ mcpServers: { everything: server } })
    try {
      const session = await client.createSession('everything')
      return {
        tools: await session.listTools(),
        echo: await session.callTool('echo', { message: 'hello' }),
        invalid: await outcomeOf(session.callTool('get-sum', { a: 'two', b: 3 })),
        prompts: await session.listPrompts(),
        resources: await session.listAllResources(),
      }
    } finally {
      await client.closeAllSessions()
    }
  },

  async openai(server) {
    const { MCPServerStdio, MCPServerStreamableHttp, getAllMcpTools } = await import('@openai/agents-core')
    const client = server.url ? new MCPServerStreamableHttp(server) : new MCPServerStdio(server)
    await client.connect()
    try {
      return {
        tools: await client.listTools(),
        echo: await client.callTool('echo', { message: 'hello' }),
        invalid: await outcomeOf(client.callTool('get-sum', { a: 'two', b: 3 })),
        agentTools: (await getAllMcpTools([client])).map(({ name, parameters }) => ({ name, parameters })),
      }
    } finally {
      await client.close()
    }
  },

  // It has a client of its own, and uses the transports of the SDK.
  async 'ai-sdk'(server) {
    const { createMCPClient } = await import('@ai-sdk/mcp')
    const transport = server.url
      ? new StreamableHTTPClientTransport(new URL(server.url))
      : new StdioClientTransport(server)
    const client = await createMCPClient({ transport })
    try {
      const tools = await client.tools()
      const call = (name, args) => tools[name].execute(args, { toolCallId: '1', messages: [] })
      return {
        tools: Object.keys(tools),
        echo: await call('echo', { message: 'hello' }),
        invalid: await outcomeOf(call('get-sum', { a: 'two', b: 3 })),
      }
    } finally {
      await client.close()
    }
  },
}

async function outcomeOf(call) {
  try {
    return { value: await call }
  } catch (error) {
    return { error: error.message }
  }
}

const [name, kind, ...target] = process.argv.slice(2)
const [command, ...args] = target
const result = await applications[name](kind === 'http' ? { url: command } : { command, args })
// Events of libraries may follow, so the process ends when everything is written.
process.stdout.write(`\n${JSON.stringify(result)}\n`, () => process.exit(0))
