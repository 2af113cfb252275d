import type { CreateMessageParams, CreateMessageResult } from 'tenon/client'

type Message = CreateMessageParams['messages'][number]
type Block = Exclude<CreateMessageResult['content'], unknown[]>
type ToolUse = Extract<Block, { type: 'tool_use' }>
type ToolResult = Extract<Block, { type: 'tool_result' }>

/** The part of a host that the loop uses. */
export interface AgentHost {
  tools(): Promise<NonNullable<CreateMessageParams['tools']>>
  callTool(name: string, args: Record<string, unknown>): Promise<Omit<ToolResult, 'type' | 'toolUseId'>>
}

/** A model of `anthropic()`, `openai()` or `aiSdk()`. */
export interface AgentModel {
  readonly choices: readonly { readonly name: string }[]
  generate(request: { model: string; params: CreateMessageParams; signal: AbortSignal }): Promise<CreateMessageResult>
}

export interface AgentOptions {
  /** How often the model may be called. In the last round it gets no tools, so that it has to answer. Default 10. */
  maxRounds?: number | undefined
  /** Tokens of each message. Default 2,000. */
  maxTokens?: number | undefined
  systemPrompt?: string | undefined
  signal?: AbortSignal | undefined
}

/** Lets a model work on a task with the tools of a host. Returns its last message. */
export async function runAgent(host: AgentHost, model: AgentModel, task: string, options: AgentOptions = {}) {
  const { maxRounds = 10, maxTokens = 2_000, systemPrompt, signal = new AbortController().signal } = options
  const [{ name } = { name: '' }] = model.choices
  const tools = await host.tools()
  const messages: Message[] = [{ role: 'user', content: { type: 'text', text: task } }]
  for (let round = 1; ; round++) {
    const mode = round < maxRounds ? 'auto' : 'none'
    const params: CreateMessageParams = { messages, maxTokens, tools, toolChoice: { mode } }
    if (systemPrompt !== undefined) params.systemPrompt = systemPrompt
    const { content } = await model.generate({ model: name, params, signal })
    const blocks = Array.isArray(content) ? content : [content]
    const uses = blocks.filter((block): block is ToolUse => block.type === 'tool_use')
    if (uses.length === 0 || round >= maxRounds) return textOf(blocks)
    const results = await Promise.all(uses.map((use) => callTool(host, use)))
    messages.push({ role: 'assistant', content: blocks }, { role: 'user', content: results })
  }
}

/** The model sees errors, such as invalid arguments or a denied call, and can react to them. */
async function callTool(host: AgentHost, { id, name, input }: ToolUse): Promise<ToolResult> {
  try {
    const { content, structuredContent, isError } = await host.callTool(name, input)
    return { type: 'tool_result', toolUseId: id, content, structuredContent, ...(isError && { isError }) }
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    return { type: 'tool_result', toolUseId: id, content: [{ type: 'text', text }], isError: true }
  }
}

function textOf(blocks: readonly Block[]): string {
  return blocks.map((block) => (block.type === 'text' ? block.text : '')).join('')
}
