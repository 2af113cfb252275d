import { isObject } from 'tenon/internal'
import { compileJsonSchema, type JsonSchemaCheck } from 'tenon/server'
import type {
  ClientCapabilities,
  CreateMessageRequestParams,
  ElicitRequestFormParams,
  ElicitResult,
  Result,
} from '../generated/protocol-types.ts'
import { ErrorCode, McpError } from '../shared/errors.ts'
import type { JsonSchemaType, jsonSchemaValidator } from '../validation/types.ts'

type Block = { type: string; id?: string; toolUseId?: string }

/** Throws if the client cannot be asked for this completion, or if results and uses of tools do not match. */
export function checkSampling(params: CreateMessageRequestParams, client: ClientCapabilities | undefined): void {
  if ((params.tools || params.toolChoice) && !client?.sampling?.tools) {
    throw new Error('Client does not support sampling tools capability.')
  }
  const last = blocksOf(params.messages.at(-1)?.content)
  const used = blocksOf(params.messages.at(-2)?.content).filter(({ type }) => type === 'tool_use')
  const results = last.filter(({ type }) => type === 'tool_result')
  if (results.length > 0) {
    if (results.length < last.length) {
      throw new Error('The last message must contain only tool_result content if any is present')
    }
    if (used.length === 0) {
      throw new Error('tool_result blocks are not matching any tool_use from the previous message')
    }
  }
  if (
    used.length > 0 &&
    !isSame(
      used.map(({ id }) => id),
      results.map(({ toolUseId }) => toolUseId),
    )
  ) {
    throw new Error('ids of tool_result blocks and tool_use blocks from previous message do not match')
  }
}

/** Throws if an answer of the client does not have the shape that its request asks for. */
export function checkClientAnswers(method: string, params: object | undefined, result: Result): Result {
  const problem = answerProblem(method, params, result)
  if (problem === undefined) return result
  throw new McpError(ErrorCode.InvalidParams, `Invalid result of ${method}: ${problem}`)
}

/** Throws if the content of an accepted form does not match its schema. */
export function checkElicitedContent(
  { requestedSchema }: ElicitRequestFormParams,
  { action, content }: ElicitResult,
  validator: jsonSchemaValidator | undefined,
): void {
  if (action !== 'accept' || !content || !requestedSchema) return
  const problem = contentProblem(requestedSchema, content, validator)
  if (problem === undefined) return
  throw new McpError(
    ErrorCode.InvalidParams,
    `Elicitation response content does not match requested schema: ${problem}`,
  )
}

function contentProblem(
  schema: object,
  content: object,
  validator: jsonSchemaValidator | undefined,
): string | undefined {
  try {
    if (!validator) return describe(compile(schema)(content))
    const { valid, errorMessage } = validator.getValidator(schema as JsonSchemaType)(content)
    return valid ? undefined : errorMessage
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    throw new McpError(ErrorCode.InternalError, `Error validating elicitation response: ${text}`)
  }
}

/** Compiled once for each schema object. */
const compiled = new WeakMap<object, JsonSchemaCheck>()

function compile(schema: object): JsonSchemaCheck {
  const known = compiled.get(schema)
  if (known) return known
  const check = compileJsonSchema(schema as Record<string, unknown>)
  compiled.set(schema, check)
  return check
}

function describe(issues: ReturnType<JsonSchemaCheck>): string | undefined {
  return issues?.map((issue) => `data${issue.path} ${issue.message}`).join(', ')
}

function answerProblem(method: string, params: object | undefined, result: Result): string | undefined {
  if (!isObject(result)) return 'expected an object'
  if (method === 'roots/list') return Array.isArray(result.roots) ? undefined : 'roots must be an array'
  if (method === 'elicitation/create') return elicitProblem(result)
  return method === 'sampling/createMessage' ? sampledProblem(result, 'tools' in (params ?? {})) : undefined
}

function elicitProblem({ action, content }: Result): string | undefined {
  if (action !== 'accept' && action !== 'decline' && action !== 'cancel') {
    return 'action must be "accept", "decline" or "cancel"'
  }
  return content === undefined || content === null || isObject(content) ? undefined : 'content must be an object'
}

function sampledProblem({ model, role, content }: Result, hasTools: boolean): string | undefined {
  if (typeof model !== 'string') return 'model must be a string'
  if (role !== 'user' && role !== 'assistant') return 'role must be "user" or "assistant"'
  if (Array.isArray(content)) return hasTools ? undefined : 'content must be a single block'
  return isObject(content) ? undefined : 'content must be an object'
}

function blocksOf(content: unknown): Block[] {
  if (content === undefined) return []
  return (Array.isArray(content) ? content : [content]) as Block[]
}

function isSame(one: readonly unknown[], two: readonly unknown[]): boolean {
  const [a, b] = [new Set(one), new Set(two)]
  return a.size === b.size && [...a].every((id) => b.has(id))
}
