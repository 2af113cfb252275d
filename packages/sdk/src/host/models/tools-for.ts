import { McpError } from '../../errors.ts'
import type { JsonSchema } from '../../schema/json-schema.ts'
import { define, isObject, type JsonObject } from '../../util/objects.ts'
import { type DownleveledSchema, downlevelSchema, type SchemaTarget } from './schema-for.ts'
import { toApiNames } from './tool-names.ts'

/** The SDK that tools are for: `openai` is the API for chat completions, `openai-responses` the one for responses. */
export type ToolFormat = 'anthropic' | 'openai' | 'openai-responses' | 'ai-sdk'

/** A tool of the catalog. */
export interface ToolDefinition {
  name: string
  description?: string | undefined
  inputSchema: JsonSchema
}

/** Options of `toolsFor`. */
export interface ToolsForOptions {
  /**
   * Uses the strict mode of the API for every tool whose schema it can express: the arguments then always match the schema.
   * Default false. The AI SDK has none that all of its providers share, so `ai-sdk` ignores it.
   */
  strict?: boolean | undefined
  /**
   * Longer descriptions are shortened. Default 10,000. Services that are compatible with OpenAI may still have the limit of
   * 1,024 that OpenAI had (github.com/run-llama/llama_index/pull/18784).
   */
  maxDescriptionChars?: number | undefined
}

/** Tools as an SDK takes them. */
export interface ToolSet<F extends ToolFormat = ToolFormat> {
  /** Pass it to the SDK as `tools`. */
  readonly tools: ApiTools[F]
  /** Every change that was made to a name, a description or a schema. */
  readonly notes: readonly ToolNote[]
  /** Returns the name that a tool of the catalog has for the API. */
  apiNameOf(name: string): string
  /**
   * Returns the call that a model made, with the name in the catalog and arguments for the original schema.
   *
   * @param input The arguments as the SDK has them: an object, or JSON text.
   * @returns undefined if the model called a tool that it was not offered
   * @throws McpError if the arguments are not an object
   */
  toCall(apiName: string, input: unknown): CatalogCall | undefined
}

/** A change that was made to a tool. */
export interface ToolNote {
  /** The name in the catalog; undefined if the note is about all tools. */
  readonly tool: string | undefined
  /** Where it was made, as a JSON Pointer into the definition, such as `/inputSchema/properties/path`. */
  readonly path: string
  readonly message: string
}

/** A call of a tool of the catalog. */
export interface CatalogCall {
  readonly name: string
  readonly arguments: JsonObject
}

/** The definitions by format. */
export interface ApiTools {
  anthropic: AnthropicTool[]
  openai: OpenAiTool[]
  'openai-responses': OpenAiResponsesTool[]
  'ai-sdk': Record<string, AiSdkTool>
}

export interface AnthropicTool {
  name: string
  description?: string
  input_schema: JsonSchema & { type: 'object' }
  strict?: boolean
}

export interface OpenAiTool {
  type: 'function'
  function: { name: string; description?: string; parameters: JsonSchema; strict?: boolean }
}

export interface OpenAiResponsesTool {
  type: 'function'
  name: string
  description?: string
  parameters: JsonSchema
  strict: boolean
}

export interface AiSdkTool {
  description?: string
  inputSchema: AiSdkSchema
}

/** A Standard Schema with a JSON Schema, which the AI SDK takes; also marked in the way of its own function `jsonSchema()`. */
export interface AiSdkSchema {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => { readonly value: unknown }
    readonly jsonSchema: { readonly input: () => JsonSchema; readonly output: () => JsonSchema }
  }
  readonly jsonSchema: JsonSchema
  readonly validate: undefined
}

/**
 * Names of tools: ^[a-zA-Z0-9_-]{1,128}$ for Anthropic (github.com/anthropics/claude-code/issues/96152), at most 64 characters
 * for OpenAI (`FunctionDefinition.name` in the package `openai`) and for other providers of the AI SDK.
 */
const maxNameLength: Readonly<Record<ToolFormat, number>> = {
  anthropic: 128,
  openai: 64,
  'openai-responses': 64,
  'ai-sdk': 64,
}

/** OpenAI rejects requests with more tools (github.com/zed-industries/zed/issues/42393). */
const maxOpenAiTools = 128

/**
 * Converts tools of a catalog to what an SDK takes as `tools`: names and schemas are changed where the API would reject them.
 * Models know no other names than those, so translate each call with `toCall`.
 *
 * @example
 * const { tools, toCall } = toolsFor('anthropic', await host.tools())
 * const message = await client.messages.create({ model, max_tokens: 1_000, messages, tools })
 * for (const block of message.content) {
 *   const call = block.type === 'tool_use' && toCall(block.name, block.input)
 *   if (call) await host.callTool(call.name, call.arguments)
 * }
 */
export function toolsFor<F extends ToolFormat>(
  format: F,
  tools: readonly ToolDefinition[],
  { strict = false, maxDescriptionChars = 10_000 }: ToolsForOptions = {},
): ToolSet<F> {
  const names = toApiNames(
    tools.map(({ name }) => name),
    maxNameLength[format],
  )
  const target = targetOf(format, strict)
  const prepared = tools.map((tool) => prepare(tool, names.get(tool.name) ?? tool.name, target, maxDescriptionChars))
  const byApiName = new Map(prepared.map((tool) => [tool.apiName, tool]))
  return {
    tools: render[format](prepared),
    notes: [...limitNotes(format, tools.length), ...prepared.flatMap(({ notes }) => notes)],
    apiNameOf: (name) => names.get(name) ?? [...toApiNames([name], maxNameLength[format]).values()].join(''),
    toCall: (apiName, input) => {
      const tool = byApiName.get(apiName)
      if (!tool) return undefined
      const given = toArguments(input, tool.name)
      const restored = tool.schema.restore(given)
      return { name: tool.name, arguments: isObject(restored) ? restored : given }
    },
  }
}

function toArguments(input: unknown, name: string): JsonObject {
  try {
    const value: unknown = typeof input === 'string' ? JSON.parse(input === '' ? '{}' : input) : input
    if (isObject(value)) return value
  } catch {
    // Reported below.
  }
  throw new McpError(
    'invalid-response',
    `The model called ${JSON.stringify(name)} with invalid arguments: they must be a JSON object`,
  )
}

interface PreparedTool {
  readonly name: string
  readonly apiName: string
  readonly description: string | undefined
  readonly schema: DownleveledSchema
  readonly notes: readonly ToolNote[]
}

function prepare(tool: ToolDefinition, apiName: string, target: SchemaTarget, maxChars: number): PreparedTool {
  const { name, description = '' } = tool
  const schema = downlevelSchema(tool.inputSchema, target)
  const notes: ToolNote[] = []
  if (apiName !== name) notes.push({ tool: name, path: '/name', message: `renamed to ${apiName}` })
  const isLong = description.length > maxChars
  if (isLong) notes.push({ tool: name, path: '/description', message: `shortened to ${maxChars} characters` })
  const short = isLong ? `${description.slice(0, Math.max(0, maxChars - 1))}…` : description
  const changes = schema.notes.map(({ path, message }) => ({ tool: name, path: `/inputSchema${path}`, message }))
  return { name, apiName, description: short === '' ? undefined : short, schema, notes: [...notes, ...changes] }
}

function targetOf(format: ToolFormat, strict: boolean): SchemaTarget {
  if (format === 'ai-sdk') return 'ai-sdk'
  const api = format === 'anthropic' ? 'anthropic' : 'openai'
  return strict ? `${api}-strict` : api
}

function limitNotes(format: ToolFormat, count: number): readonly ToolNote[] {
  const isTooMany = (format === 'openai' || format === 'openai-responses') && count > maxOpenAiTools
  if (!isTooMany) return []
  const message = `OpenAI takes at most ${maxOpenAiTools} tools in a request, and these are ${count}. Offer fewer.`
  return [{ tool: undefined, path: '', message }]
}

/** Marks the schemas of the AI SDK; `asSchema()` of the package `@ai-sdk/provider-utils` looks for it. */
const aiSdkSchema = Symbol.for('vercel.ai.schema')

const render: { readonly [F in ToolFormat]: (tools: readonly PreparedTool[]) => ApiTools[F] } = {
  anthropic: (tools) =>
    tools.map(({ apiName, description, schema }) => ({
      name: apiName,
      ...(description !== undefined && { description }),
      input_schema: { ...schema.schema, type: 'object' },
      ...(schema.isStrict && { strict: true }),
    })),
  openai: (tools) =>
    tools.map(({ apiName, description, schema }) => ({
      type: 'function',
      function: {
        name: apiName,
        ...(description !== undefined && { description }),
        parameters: schema.schema,
        ...(schema.isStrict && { strict: true }),
      },
    })),
  'openai-responses': (tools) =>
    tools.map(({ apiName, description, schema }) => ({
      type: 'function',
      name: apiName,
      ...(description !== undefined && { description }),
      parameters: schema.schema,
      // This API is strict unless told otherwise.
      strict: schema.isStrict,
    })),
  'ai-sdk': (tools) => {
    const byName: Record<string, AiSdkTool> = {}
    for (const { apiName, description, schema } of tools) {
      const inputSchema = toAiSdkSchema(schema.schema)
      define(byName, apiName, { ...(description !== undefined && { description }), inputSchema })
    }
    return byName
  },
}

/** Arguments are not validated here, because the host validates them against the original schema. */
function toAiSdkSchema(schema: JsonSchema): AiSdkSchema {
  const jsonSchema = { input: () => schema, output: () => schema }
  return {
    [aiSdkSchema]: true,
    '~standard': { version: 1, vendor: 'tenon', validate: (value: unknown) => ({ value }), jsonSchema },
    jsonSchema: schema,
    validate: undefined,
  } as AiSdkSchema
}
