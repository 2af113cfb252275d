import type { ApprovalRequest, Approve } from '../../src/host/action.ts'
import type { PolicyRule } from '../../src/host/policy.ts'
import { McpServer } from '../../src/server/mcp-server.ts'

/** Rules that allow everything, also new commands and changed definitions. */
export const allowAll: readonly PolicyRule[] = [
  { kind: ['connect', 'definitions'], decide: 'allow' },
  { decide: 'allow' },
]

/** A server with one tool for each name, which returns its name. */
export function serverWith(...tools: string[]): McpServer {
  const server = new McpServer({ name: 'the same name for all', version: '1.0.0' })
  for (const tool of tools) server.registerTool(tool, { description: `Does ${tool}` }, () => `${tool} ran`)
  return server
}

const text = { type: 'object' as const, properties: { text: { type: 'string' } }, required: ['text'] }

/** A server whose tool `echo` returns its text. */
export function echo(): McpServer {
  const server = new McpServer({ name: 'echo', version: '1.0.0' })
  server.registerTool('echo', { description: 'Echoes', inputSchema: text }, ({ text }) => String(text))
  return server
}

/** A server whose tool `read` returns this text. */
export function document(content: string): McpServer {
  const server = new McpServer({ name: 'document', version: '1.0.0' })
  server.registerTool('read', { description: 'Reads the document' }, () => content)
  return server
}

/** An `approve` that records its questions and gives the answers in turn, then denies. */
export function script(...answers: Awaited<ReturnType<Approve>>[]): { approve: Approve; asked: ApprovalRequest[] } {
  const asked: ApprovalRequest[] = []
  return {
    asked,
    approve: async (request) => {
      asked.push(request)
      return answers.shift() ?? 'deny'
    },
  }
}
