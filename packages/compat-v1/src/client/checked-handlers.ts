import type { ClientCapabilities, Result } from '../generated/protocol-types.ts'
import { ErrorCode, McpError } from '../shared/errors.ts'
import { type AnySchema, type SchemaOutput, safeParse } from '../shared/zod-reading.ts'
import {
  CreateMessageRequestSchema,
  CreateMessageResultSchema,
  CreateMessageResultWithToolsSchema,
  CreateTaskResultSchema,
  ElicitRequestSchema,
  ElicitResultSchema,
} from '../types.ts'
import { applyDefaults } from './elicitation-defaults.ts'

type Handler = (request: never, extra: never) => Result | Promise<Result>

/** The modes of elicitation that a client declares. Without a mode, it supports forms. */
export function getSupportedElicitationModes(capabilities: ClientCapabilities['elicitation']): {
  supportsFormMode: boolean
  supportsUrlMode: boolean
} {
  if (!capabilities) return { supportsFormMode: false, supportsUrlMode: false }
  const supportsUrlMode = capabilities.url !== undefined
  return { supportsFormMode: capabilities.form !== undefined || !supportsUrlMode, supportsUrlMode }
}

/** Adds checks of the request and of the result to a handler for elicitation or sampling. */
export function withChecks(method: string, handler: Handler, capabilities: () => ClientCapabilities): Handler {
  if (method === 'elicitation/create') return withElicitationChecks(handler, capabilities)
  return method === 'sampling/createMessage' ? withSamplingChecks(handler) : handler
}

function withElicitationChecks(handler: Handler, capabilities: () => ClientCapabilities): Handler {
  return async (request, extra) => {
    const { params } = checked(ElicitRequestSchema, request, 'elicitation request')
    const { elicitation } = capabilities()
    checkMode(params.mode ?? 'form', elicitation)
    const result = await handler(request, extra)
    if (params.task) return checked(CreateTaskResultSchema, result, 'task creation result')
    const elicited = checked(ElicitResultSchema, result, 'elicitation result')
    const fills = params.mode !== 'url' && elicited.action === 'accept' && elicitation?.form?.applyDefaults
    if (fills && elicited.content) applyDefaults(params.requestedSchema, elicited.content)
    return elicited
  }
}

function checkMode(mode: 'form' | 'url', elicitation: ClientCapabilities['elicitation']): void {
  const { supportsFormMode, supportsUrlMode } = getSupportedElicitationModes(elicitation)
  if (mode === 'form' ? supportsFormMode : supportsUrlMode) return
  const name = mode === 'form' ? 'form' : 'URL'
  throw new McpError(ErrorCode.InvalidParams, `Client does not support ${name}-mode elicitation requests`)
}

function withSamplingChecks(handler: Handler): Handler {
  return async (request, extra) => {
    const { params } = checked(CreateMessageRequestSchema, request, 'sampling request')
    const result = await handler(request, extra)
    if (params.task) return checked(CreateTaskResultSchema, result, 'task creation result')
    const usesTools = params.tools || params.toolChoice
    return checked(
      usesTools ? CreateMessageResultWithToolsSchema : CreateMessageResultSchema,
      result,
      'sampling result',
    )
  }
}

function checked<Schema extends AnySchema>(schema: Schema, value: unknown, what: string): SchemaOutput<Schema> {
  const parsed = safeParse(schema, value)
  if (parsed.success) return parsed.data
  const why = parsed.error instanceof Error ? parsed.error.message : String(parsed.error)
  throw new McpError(ErrorCode.InvalidParams, `Invalid ${what}: ${why}`)
}
