import { Suspended } from 'tenon/server'
import { isTerminal, type ToolTaskHandler } from '../experimental/tasks/interfaces.ts'
import type {
  CallToolRequest,
  CallToolResult,
  CreateTaskResult,
  ListToolsResult,
  Tool,
} from '../generated/protocol-types.ts'
import { ErrorCode, McpError } from '../shared/errors.ts'
import { find, type RegisteredTool, type Registry, type ServerExtra } from './registered.ts'
import { checkToolCallResult } from './tool-results.ts'
import { describeIssues, describeSchema, validate } from './tool-schemas.ts'

const noArguments: Tool['inputSchema'] = Object.freeze({ type: 'object', properties: Object.freeze({}) }) as never

/** Lists the enabled tools. */
export function listTools(tools: Registry<RegisteredTool>): ListToolsResult {
  const enabled = Object.entries(tools).filter(([, tool]) => tool.enabled)
  return { tools: enabled.map(([name, tool]) => toTool(name, tool)) }
}

function toTool(name: string, tool: RegisteredTool): Tool {
  const { title, description, inputSchema, outputSchema, annotations, execution, _meta } = tool
  const output = outputSchema && describeSchema(outputSchema, 'output')
  return {
    name,
    title,
    description,
    inputSchema: (inputSchema && describeSchema(inputSchema, 'input')) ?? noArguments,
    annotations,
    execution,
    _meta,
    ...(output && { outputSchema: output }),
  } as Tool
}

/** The server of the tools. Programs replace its checks, for example to change what the model reads. */
export interface ToolHost {
  readonly tools: Registry<RegisteredTool>
  readonly maxElements: number | undefined
  checkInput(tool: RegisteredTool, args: unknown, name: string): Promise<unknown>
  checkOutput(tool: RegisteredTool, result: object, name: string): Promise<void>
}

/** Calls a tool. What goes wrong becomes a result, so that the model can read it. */
export async function callTool(
  host: ToolHost,
  request: CallToolRequest,
  extra: ServerExtra,
): Promise<CallToolResult | CreateTaskResult> {
  const { name } = request.params
  const { maxElements } = host
  let result: CallToolResult | CreateTaskResult
  try {
    const tool = findTool(host.tools, name)
    if (maxElements !== undefined) checkSize(name, request.params.arguments, maxElements)
    const taskSupport = tool.execution?.taskSupport
    if (taskSupport === 'required' || taskSupport === 'optional') {
      result = await callTaskTool(host, tool, request, extra, taskSupport)
    } else {
      const args = tool.inputSchema && (await host.checkInput(tool, request.params.arguments, name))
      result = await run(tool, args, extra)
    }
    if (request.params.task === undefined && tool.outputSchema) await host.checkOutput(tool, result, name)
  } catch (error) {
    return toToolError(error)
  }
  return checkToolCallResult(request, result) as CallToolResult
}

function findTool(tools: Registry<RegisteredTool>, name: string): RegisteredTool {
  const tool = find(tools, name)
  if (!tool) throw new McpError(ErrorCode.InvalidParams, `Tool ${name} not found`)
  if (!tool.enabled) throw new McpError(ErrorCode.InvalidParams, `Tool ${name} disabled`)
  return tool
}

function run(tool: RegisteredTool, args: unknown, extra: ServerExtra): CallToolResult | Promise<CallToolResult> {
  if (isTaskHandler(tool)) return createTask(tool, args, extra) as never
  const handler = tool.handler as (...parameters: unknown[]) => CallToolResult
  return tool.inputSchema ? handler(args, extra) : handler(extra)
}

async function callTaskTool(
  host: ToolHost,
  tool: RegisteredTool,
  request: CallToolRequest,
  extra: ServerExtra,
  taskSupport: 'required' | 'optional',
): Promise<CallToolResult | CreateTaskResult> {
  const { name, task } = request.params
  if (!isTaskHandler(tool)) {
    throw new McpError(
      ErrorCode.InternalError,
      `Tool ${name} has taskSupport '${taskSupport}' but was not registered with registerToolTask`,
    )
  }
  if (taskSupport === 'required' && task === undefined) {
    throw new McpError(ErrorCode.MethodNotFound, `Tool ${name} requires task augmentation (taskSupport: 'required')`)
  }
  if (task === undefined && !extra.taskStore) throw new Error('No task store provided for task-capable tool.')
  const args = tool.inputSchema && (await host.checkInput(tool, request.params.arguments, name))
  const created = await createTask(tool, args, extra)
  return task === undefined ? waitForResult(created, extra) : created
}

function isTaskHandler({ handler }: RegisteredTool): boolean {
  return 'createTask' in handler
}

function createTask(
  tool: RegisteredTool,
  args: unknown,
  extra: ServerExtra,
): CreateTaskResult | Promise<CreateTaskResult> {
  const { taskStore } = extra
  if (!taskStore) throw new Error('No task store provided.')
  const handler = tool.handler as ToolTaskHandler<undefined>
  const create = handler.createTask.bind(handler) as (...parameters: unknown[]) => CreateTaskResult
  const taskExtra = { ...extra, taskStore }
  return tool.inputSchema ? create(args, taskExtra) : create(taskExtra)
}

/** A client that did not ask for a task waits for the result. */
async function waitForResult({ task: created }: CreateTaskResult, extra: ServerExtra): Promise<CallToolResult> {
  const store = extra.taskStore!
  let task = created
  while (!isTerminal(task.status)) {
    await new Promise((resolve) => setTimeout(resolve, created.pollInterval ?? 5_000))
    task = await store.getTask(created.taskId)
  }
  return (await store.getTaskResult(created.taskId)) as CallToolResult
}

/** Returns the checked arguments of a call. */
export async function checkInput({ inputSchema }: RegisteredTool, args: unknown, name: string): Promise<unknown> {
  if (!inputSchema) return undefined
  const checked = await validate(inputSchema, args ?? {})
  if (!checked.issues) return checked.value
  throw new McpError(
    ErrorCode.InvalidParams,
    `Input validation error: Invalid arguments for tool ${name}: ${describeIssues(checked.issues)}`,
  )
}

/** Checks the structured content of a result. */
export async function checkOutput({ outputSchema }: RegisteredTool, result: object, name: string): Promise<void> {
  const { structuredContent, isError } = result as Partial<CallToolResult>
  if (!outputSchema) return
  if (isError || !('content' in result || structuredContent !== undefined)) return
  if (!structuredContent) {
    throw new McpError(
      ErrorCode.InvalidParams,
      `Output validation error: Tool ${name} has an output schema but no structured content was provided`,
    )
  }
  const checked = await validate(outputSchema, structuredContent)
  if (!checked.issues) return
  throw new McpError(
    ErrorCode.InvalidParams,
    `Output validation error: Invalid structured content for tool ${name}: ${describeIssues(checked.issues)}`,
  )
}

function toToolError(error: unknown): CallToolResult {
  // A question without an answer ends this run, and a URL to open first is an error of the protocol.
  if (error instanceof Suspended) throw error
  if (error instanceof McpError && error.code === ErrorCode.UrlElicitationRequired) throw error
  return { content: [{ type: 'text', text: error instanceof Error ? error.message : String(error) }], isError: true }
}

function checkSize(name: string, args: unknown, max: number): void {
  if (countElements(args, max) <= max) return
  throw new McpError(
    ErrorCode.InvalidParams,
    `Invalid arguments for tool ${name}: arguments contain more than the maximum of ${max} elements`,
  )
}

/** Counts array elements and object members, up to one more than `max`. */
function countElements(value: unknown, max: number): number {
  let count = 0
  const open = [value]
  while (open.length > 0 && count <= max) {
    const node = open.pop()
    if (typeof node !== 'object' || node === null) continue
    const members = Object.values(node)
    count += members.length
    if (count <= max) open.push(...members)
  }
  return count
}
