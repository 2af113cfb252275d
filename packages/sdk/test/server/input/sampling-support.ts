import type {
  AudioContent,
  CreateMessageParams,
  CreateMessageResult,
  ImageContent,
  RevisionId,
  SamplingContent,
  SamplingMessage,
  TextContent,
  Tool,
  ToolResultContent,
  ToolUseContent,
} from 'tenon'
import type { ClientOptions } from 'tenon/client'
import { type Context, inputRequired, McpServer, type McpServerOptions } from 'tenon/server'
import { modern } from './wire.ts'

export const createMessage = 'sampling/createMessage'
export const withTools: RevisionId[] = ['2025-11-25', modern]
export const beforeTools: RevisionId[] = ['2024-11-05', '2025-03-26', '2025-06-18']

export const text = (text: string): TextContent => ({ type: 'text', text })
export const image: ImageContent = { type: 'image', data: 'AAAA', mimeType: 'image/png' }
export const audio: AudioContent = { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }
export const use = (id: string, name = 'weather'): ToolUseContent => ({
  type: 'tool_use',
  id,
  name,
  input: { city: id },
})
export const outcome = (toolUseId: string): ToolResultContent => ({
  type: 'tool_result',
  toolUseId,
  content: [text(`Rain in ${toolUseId}`)],
})
export const user = (content: SamplingContent | SamplingContent[]): SamplingMessage => ({ role: 'user', content })
export const assistant = (content: SamplingContent | SamplingContent[]): SamplingMessage => ({
  role: 'assistant',
  content,
})
export const weather: Tool = {
  name: 'weather',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
}

export const ask = (more: Partial<CreateMessageParams> = {}): CreateMessageParams => ({
  messages: [user(text('A line about the sea'))],
  maxTokens: 50,
  ...more,
})
export const answer = (
  content: CreateMessageResult['content'] = text('Waves'),
  more: object = {},
): CreateMessageResult => ({
  role: 'assistant',
  model: 'm-1',
  content,
  ...more,
})

/** Creates options of a client that supports sampling with tools and answers with `sample`. */
export const sampling = (
  sample: NonNullable<NonNullable<ClientOptions['handlers']>['sample']> = () => answer(),
): ClientOptions => ({ handlers: { sample }, capabilities: { sampling: { tools: {} } } })

/** Creates a server whose tool runs `work` and returns its result. */
export function server(work: (ctx: Context) => Promise<unknown>, options: McpServerOptions = {}): McpServer {
  const made = new McpServer({ name: 'asker', version: '1.0.0' }, options)
  made.registerTool('ask', {}, async (_args, ctx) => JSON.stringify(await work(ctx)))
  return made
}

export type Case = [what: string, params: CreateMessageParams]

const at = { type: 'object', properties: { at: { type: 'integer' } } } as const

/** Creates a server whose tool samples with the case at the given index and returns the error as text. */
export function asksAllOf(cases: Case[]): McpServer {
  const made = new McpServer({ name: 'asker', version: '1.0.0' })
  made.registerTool('ask', { inputSchema: at }, async (args, ctx) => {
    const [, params] = cases[(args as { at: number }).at]!
    return ctx.sample(params).then(({ text }) => text, String)
  })
  return made
}

/** Creates the same server with a handler that returns its question. */
export function returnsAllOf(cases: Case[]): McpServer {
  const made = new McpServer({ name: 'asker', version: '1.0.0' })
  made.registerTool('ask', { inputSchema: at }, async (args, { inputResponses }) => {
    if (Object.keys(inputResponses).length > 0) return 'answered'
    const [, params] = cases[(args as { at: number }).at]!
    return inputRequired({ inputRequests: { q: inputRequired.createMessage(params) } })
  })
  return made
}
