import { ErrorCode, ProtocolError } from '../../errors.ts'
import type { CallToolResult, Tool } from '../../protocol/tools.ts'
import { isObject } from '../../util/objects.ts'
import { type HostTool, searchIn } from '../catalog.ts'

const searchName = 'search_tools'
const callName = 'call_tool'

/** The tools that a gateway with a large catalog offers instead of all. */
export const searchTools: readonly Tool[] = [
  {
    name: searchName,
    description: 'Searches the tools of this server by words. Returns their names, descriptions and input schemas.',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'Words that describe what you want to do' },
        limit: { type: 'integer', minimum: 1, maximum: 50, description: 'How many tools to return. Default 10' },
      },
      required: ['query'],
    },
    annotations: { readOnlyHint: true },
  },
  {
    name: callName,
    description: `Calls a tool that ${searchName} returned.`,
    inputSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', description: 'The name of the tool' },
        arguments: { type: 'object', description: 'The arguments, as its input schema describes them' },
      },
      required: ['name'],
    },
  },
]

/** What a call of one of these tools means: a result, or a call of another tool. */
export type SearchOutcome =
  | { readonly result: CallToolResult }
  | { readonly call: { readonly name: string; readonly arguments: Record<string, unknown> } }

export function isSearchTool(name: string): boolean {
  return name === searchName || name === callName
}

/** Runs a call of `search_tools` or `call_tool`. */
export function runToolSearch(
  tools: readonly HostTool[],
  name: string,
  args: Readonly<Record<string, unknown>>,
): SearchOutcome {
  return name === searchName ? { result: search(tools, args) } : { call: readCall(args) }
}

function search(tools: readonly HostTool[], { query, limit = 10 }: Readonly<Record<string, unknown>>): CallToolResult {
  if (typeof query !== 'string') throw invalid(`${searchName}: query must be a string`)
  const max = typeof limit === 'number' ? Math.min(Math.max(Math.trunc(limit), 1), 50) : 10
  const found = searchIn(tools, query, max).map(({ name, title, description, inputSchema, annotations }) => ({
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    inputSchema,
    ...(annotations && { annotations }),
  }))
  return { content: [{ type: 'text', text: JSON.stringify(found) }], structuredContent: { tools: found } }
}

function readCall({ name, arguments: args = {} }: Readonly<Record<string, unknown>>): {
  name: string
  arguments: Record<string, unknown>
} {
  if (typeof name !== 'string') throw invalid(`${callName}: name must be a string`)
  if (!isObject(args)) throw invalid(`${callName}: arguments must be an object`)
  return { name, arguments: args }
}

function invalid(message: string): ProtocolError {
  return new ProtocolError(ErrorCode.InvalidParams, message)
}
