import { isObject } from 'tenon/internal'
import type { Request, Result } from '../generated/protocol-types.ts'
import { ErrorCode, McpError } from '../shared/errors.ts'

/** Checks the result of a tool call. Returns it with `content`, which every result has. */
export function checkToolCallResult({ params }: Request, result: Result): Result {
  if (params?.task !== undefined) return checkCreatedTask(result)
  const problem = resultProblem(result)
  if (problem !== undefined) throw new McpError(ErrorCode.InvalidParams, `Invalid tools/call result: ${problem}`)
  return result.content === undefined ? { content: [], ...result } : result
}

function checkCreatedTask(result: Result): Result {
  const { task } = isObject(result) ? result : {}
  if (isObject(task) && typeof task.taskId === 'string' && typeof task.status === 'string') return result
  throw new McpError(ErrorCode.InvalidParams, 'Invalid task creation result: task must have a taskId and a status')
}

function resultProblem(result: unknown): string | undefined {
  if (!isObject(result)) return 'expected an object'
  const { content, structuredContent, isError } = result
  if (structuredContent !== undefined && !isObject(structuredContent)) return 'structuredContent: expected an object'
  if (isError !== undefined && typeof isError !== 'boolean') return 'isError: expected a boolean'
  if (content === undefined) return undefined
  if (!Array.isArray(content)) return 'content: expected an array'
  for (const [index, block] of content.entries()) {
    const problem = blockProblem(block)
    if (problem !== undefined) return `content[${index}]: ${problem}`
  }
  return undefined
}

function blockProblem(block: unknown): string | undefined {
  if (!isObject(block)) return 'expected an object'
  switch (block.type) {
    case 'text':
      return typeof block.text === 'string' ? undefined : 'text: expected a string'
    case 'image':
    case 'audio':
      return typeof block.data === 'string' && typeof block.mimeType === 'string'
        ? undefined
        : 'expected data and mimeType as strings'
    case 'resource_link':
      return typeof block.uri === 'string' && typeof block.name === 'string'
        ? undefined
        : 'expected uri and name as strings'
    case 'resource':
      return isContents(block.resource) ? undefined : 'resource: expected a uri, and text or blob'
    default:
      return `unknown type ${JSON.stringify(block.type)}`
  }
}

function isContents(resource: unknown): boolean {
  if (!isObject(resource) || typeof resource.uri !== 'string') return false
  return typeof resource.text === 'string' || typeof resource.blob === 'string'
}
