import { isSecret } from '../../protocol/form.ts'
import { findMirroredArguments, type MirroredArgument } from '../../protocol/mirrored-headers.ts'
import type { JsonObjectSchema, Tool } from '../../protocol/tools.ts'
import { headerAnnotationProblem } from '../../protocol/x-mcp-header.ts'
import type { SchemaLike } from '../../schema/standard.ts'
import { compileSchema, type UserSchema } from '../../schema/user-schema.ts'
import { warnOnce } from '../../util/warn.ts'
import type { Context } from '../context.ts'
import { checkPolicy } from '../task-runtime.ts'
import { checkItem, defined } from './feature.ts'
import type { ToolConfig } from './tool-config.ts'

/** A registered tool with its compiled schemas. */
export interface ToolEntry {
  key: string
  name: string
  enabled: boolean
  definition: Tool
  input: UserSchema | undefined
  output: UserSchema | undefined
  /** Arguments that HTTP headers mirror. */
  mirrored: readonly MirroredArgument[]
  /** The root of the output schema is not an object, so clients of earlier revisions get `{ result }`. */
  wrapsOutput: boolean
  handler: AnyToolHandler
  config: ToolConfig<SchemaLike, SchemaLike>
}

/** A handler whose types were checked at registration. */
export type AnyToolHandler = (args: never, ctx: Context) => unknown

/** Checks a tool and compiles its schemas. */
export function compileTool(
  name: string,
  config: ToolConfig<SchemaLike, SchemaLike>,
  handler: AnyToolHandler,
  { enabled, hasTasks }: { enabled: boolean; hasTasks: boolean },
): ToolEntry {
  checkTaskSupport(name, config.execution?.taskSupport, hasTasks)
  checkName(name)
  if (typeof handler !== 'function')
    throw new TypeError(`Tool "${name}": the third argument, the handler, must be a function`)
  checkItem(`Tool "${name}"`, config)
  const { inputSchema, outputSchema, title, description, annotations, execution, icons, _meta } = config
  const input = inputSchema && inTool(name, 'inputSchema', () => compileSchema(inputSchema, 'input'))
  const output = outputSchema && inTool(name, 'outputSchema', () => compileSchema(outputSchema, 'output'))
  const definition = defined<Tool>({
    name,
    title,
    description,
    inputSchema: input ? objectSchema(name, input.json) : noInput,
    outputSchema: output?.json,
    annotations,
    execution,
    icons,
    _meta,
  })
  if (config.taskPolicy !== undefined) checkPolicy(config.taskPolicy, `Tool "${name}": taskPolicy`)
  const problem = headerAnnotationProblem(definition.inputSchema)
  if (problem !== undefined) throw new TypeError(`Tool "${name}", inputSchema: ${problem}`)
  const mirrored = findMirroredArguments(definition.inputSchema)
  warnAboutSecrets(name, mirrored)
  const wrapsOutput = output !== undefined && output.json.type !== 'object'
  return { key: name, name, enabled, definition, input, output, mirrored, wrapsOutput, handler, config }
}

/** 2026-07-28 tools: proxies can read and log headers. */
function warnAboutSecrets(name: string, mirrored: readonly MirroredArgument[]): void {
  for (const { path } of mirrored) {
    const argument = path.join('.')
    if (!isSecret(path.at(-1)!)) continue
    warnOnce(
      `secret header ${name} ${argument}`,
      `Tool "${name}": the argument "${argument}" looks like a secret. Remove its x-mcp-header, because proxies log headers.`,
    )
  }
}

function checkTaskSupport(name: string, support: unknown, hasTasks: boolean): void {
  if (support === undefined || support === 'forbidden' || support === 'optional') return
  if (support !== 'required') {
    throw new TypeError(`Tool "${name}": execution.taskSupport must be 'required', 'optional' or 'forbidden'`)
  }
  if (hasTasks) return
  throw new TypeError(
    `Tool "${name}": taskSupport 'required' requires a server with tasks: new McpServer(info, { tasks: tasks() })`,
  )
}

/** Adds the name of the tool to errors. */
function inTool<T>(name: string, what: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw new TypeError(`Tool "${name}", ${what}: ${(error as Error).message}`, { cause: error })
  }
}

/** All revisions require `type: "object"` at the root of an input schema. */
function objectSchema(name: string, schema: Record<string, unknown>): JsonObjectSchema {
  if (schema.type !== undefined && schema.type !== 'object') {
    throw new TypeError(
      `Tool "${name}", inputSchema: the root must have type "object", not ${JSON.stringify(schema.type)}`,
    )
  }
  return { type: 'object', ...(schema.properties === undefined && { properties: {} }), ...schema }
}

function checkName(name: string): void {
  if (name === '') throw new TypeError('A tool requires a name')
  if (!/^[A-Za-z0-9_.-]{1,128}$/.test(name)) {
    warnOnce(
      `tool-name ${name}`,
      `Tool name ${JSON.stringify(name)}: use 1 to 128 letters, digits, underscores, hyphens and dots, or some hosts reject it.`,
    )
  }
}

/**
 * 2026-07-28 tools: the recommended schema of a tool without parameters. Several model APIs require `properties`.
 */
const noInput: JsonObjectSchema = { type: 'object', properties: {}, additionalProperties: false }
