import type { ToolAnnotations, ToolExecution } from '../../generated/protocol-types.ts'
import type { AnyToolHandler, McpServer, RegisteredTool } from '../../server/mcp.ts'
import type { AnySchema, ZodRawShapeCompat } from '../../shared/zod-reading.ts'
import type { TaskToolExecution, ToolTaskHandler } from './interfaces.ts'

/** What describes a tool whose calls run as tasks. */
interface ToolTaskConfig<InputArgs, OutputArgs> {
  title?: string
  description?: string
  inputSchema?: InputArgs
  outputSchema?: OutputArgs
  annotations?: ToolAnnotations
  execution?: TaskToolExecution
  _meta?: Record<string, unknown>
}

/** Tools whose calls run as tasks: `mcpServer.experimental.tasks`. */
export class ExperimentalMcpServerTasks {
  private readonly _mcpServer: McpServer

  constructor(mcpServer: McpServer) {
    this._mcpServer = mcpServer
  }

  /** Registers a tool whose calls run as tasks. */
  registerToolTask<OutputArgs extends undefined | ZodRawShapeCompat | AnySchema>(
    name: string,
    config: Omit<ToolTaskConfig<undefined, OutputArgs>, 'inputSchema'>,
    handler: ToolTaskHandler<undefined>,
  ): RegisteredTool
  registerToolTask<
    InputArgs extends ZodRawShapeCompat | AnySchema,
    OutputArgs extends undefined | ZodRawShapeCompat | AnySchema,
  >(
    name: string,
    config: ToolTaskConfig<InputArgs, OutputArgs> & { inputSchema: InputArgs },
    handler: ToolTaskHandler<InputArgs>,
  ): RegisteredTool
  registerToolTask(
    name: string,
    config: ToolTaskConfig<ZodRawShapeCompat | AnySchema, ZodRawShapeCompat | AnySchema | undefined>,
    handler: object,
  ): RegisteredTool {
    const execution: ToolExecution = { taskSupport: 'required', ...config.execution }
    if (execution.taskSupport === 'forbidden') {
      throw new Error(
        `Cannot register task-based tool '${name}' with taskSupport 'forbidden'. Use registerTool() instead.`,
      )
    }
    return this._mcpServer._createRegisteredTool(name, {
      ...config,
      execution,
      handler: handler as AnyToolHandler<ZodRawShapeCompat | undefined>,
    })
  }
}
