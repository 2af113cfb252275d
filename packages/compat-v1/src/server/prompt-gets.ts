import type {
  GetPromptRequest,
  GetPromptResult,
  ListPromptsResult,
  Prompt,
  PromptArgument,
} from '../generated/protocol-types.ts'
import { ErrorCode, McpError } from '../shared/errors.ts'
import { type AnySchema, getSchemaDescription, isSchemaOptional } from '../shared/zod-reading.ts'
import { find, type RegisteredPrompt, type Registry, type ServerExtra } from './registered.ts'
import { describeIssues, fieldsOf, validate } from './tool-schemas.ts'

/** Lists the enabled prompts. */
export function listPrompts(prompts: Registry<RegisteredPrompt>): ListPromptsResult {
  const enabled = Object.entries(prompts).filter(([, prompt]) => prompt.enabled)
  return { prompts: enabled.map(([name, prompt]) => toPrompt(name, prompt)) }
}

function toPrompt(name: string, { title, description, argsSchema }: RegisteredPrompt): Prompt {
  return { name, title, description, arguments: argsSchema && toArguments(argsSchema) } as Prompt
}

function toArguments(schema: AnySchema): PromptArgument[] {
  return Object.entries(fieldsOf(schema) ?? {}).map(([name, field]) => ({
    name,
    description: getSchemaDescription(field),
    required: !isSchemaOptional(field),
  })) as PromptArgument[]
}

/** Returns the enabled prompt with this name. Throws if there is none. */
export function findPrompt(prompts: Registry<RegisteredPrompt>, name: string): RegisteredPrompt {
  const prompt = find(prompts, name)
  if (!prompt) throw new McpError(ErrorCode.InvalidParams, `Prompt ${name} not found`)
  if (!prompt.enabled) throw new McpError(ErrorCode.InvalidParams, `Prompt ${name} disabled`)
  return prompt
}

/** Returns the messages of a prompt. */
export async function getPrompt(
  prompts: Registry<RegisteredPrompt>,
  { params }: GetPromptRequest,
  extra: ServerExtra,
): Promise<GetPromptResult> {
  const prompt = findPrompt(prompts, params.name)
  const callback = prompt.callback as (...parameters: unknown[]) => GetPromptResult
  if (!prompt.argsSchema) return callback(extra)
  const checked = await validate(prompt.argsSchema, params.arguments ?? {})
  if (!checked.issues) return callback(checked.value, extra)
  throw new McpError(
    ErrorCode.InvalidParams,
    `Invalid arguments for prompt ${params.name}: ${describeIssues(checked.issues)}`,
  )
}
