import { describe, expect, it } from 'vitest'
import { isProtocolSchema } from '../src/shared/protocol-schemas.ts'
import { methodOf } from '../src/shared/zod-reading.ts'
import {
  CallToolRequestSchema,
  CallToolResultSchema,
  ClientCapabilitiesSchema,
  ElicitResultSchema,
  ErrorCode,
  isInitializeRequest,
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  isTaskAugmentedRequestParams,
  JSONRPCErrorResponseSchema,
  JSONRPCNotificationSchema,
  JSONRPCRequestSchema,
  JSONRPCResultResponseSchema,
  ListToolsResultSchema,
  McpError,
  TaskAugmentedRequestParamsSchema,
  UrlElicitationRequiredError,
} from '../src/types.ts'

const values: unknown[] = [
  null,
  [],
  'text',
  {},
  { jsonrpc: '2.0', id: 1, method: 'ping' },
  { jsonrpc: '2.0', id: 'a', method: 'ping', params: {} },
  { jsonrpc: '2.0', id: 1.5, method: 'ping' },
  { jsonrpc: '2.0', id: null, method: 'ping' },
  { jsonrpc: '1.0', id: 1, method: 'ping' },
  { jsonrpc: '2.0', id: 1, method: 'ping', extra: 1 },
  { jsonrpc: '2.0', id: 1, method: 'ping', params: [] },
  { jsonrpc: '2.0', id: 1, method: 'ping', params: { _meta: { progressToken: 1, any: 2 }, x: 1 } },
  { jsonrpc: '2.0', id: 1, method: 'ping', params: { _meta: { progressToken: {} } } },
  { jsonrpc: '2.0', id: 1, method: 'ping', params: { _meta: null } },
  { jsonrpc: '2.0', id: 1, method: 'ping', params: { _meta: { 'io.modelcontextprotocol/related-task': {} } } },
  { jsonrpc: '2.0', method: 'notifications/x' },
  { jsonrpc: '2.0', method: 'notifications/x', params: { a: 1 } },
  { jsonrpc: '2.0', id: 1, result: {} },
  { jsonrpc: '2.0', id: 1, result: { _meta: 7 } },
  { jsonrpc: '2.0', id: 1, result: null },
  { jsonrpc: '2.0', id: 1, error: { code: -1, message: 'no', data: { a: 1 } } },
  { jsonrpc: '2.0', error: { code: -1, message: 'no' } },
  { jsonrpc: '2.0', id: 1, error: { code: 'x', message: 'no' } },
  { task: {} },
  { task: { ttl: 5 } },
  { task: { ttl: 'x' } },
  { task: null },
]

describe('guards', () => {
  it.each([
    ['isJSONRPCRequest', isJSONRPCRequest, JSONRPCRequestSchema],
    ['isJSONRPCNotification', isJSONRPCNotification, JSONRPCNotificationSchema],
    ['isJSONRPCResultResponse', isJSONRPCResultResponse, JSONRPCResultResponseSchema],
    ['isJSONRPCErrorResponse', isJSONRPCErrorResponse, JSONRPCErrorResponseSchema],
    ['isTaskAugmentedRequestParams', isTaskAugmentedRequestParams, TaskAugmentedRequestParamsSchema],
  ])('%s accepts what its schema accepts', (_name, guard, schema) => {
    expect(values.filter(guard)).toEqual(values.filter((value) => schema.safeParse(value).success))
  })

  it('isInitializeRequest accepts initialize, and no request of 2026-07-28 [SDK-030]', () => {
    const clientInfo = { name: 'app', version: '1.0.0' }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
    expect(isInitializeRequest({ jsonrpc: '2.0', id: 1, method: 'initialize', params })).toBe(true)
    expect(isInitializeRequest({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta } })).toBe(false)
    expect(isInitializeRequest({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { ...params, _meta } })).toBe(
      false,
    )
    expect(isInitializeRequest({ jsonrpc: '2.0', id: 1, method: 'tools/list' })).toBe(false)
    expect(isInitializeRequest({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} })).toBe(false)
  })
})

describe('schemas', () => {
  it('keep unknown fields of results, drop those of what is listed in them, and fill in defaults', () => {
    expect(CallToolResultSchema.parse({ later: 1 })).toEqual({ content: [], later: 1 })
    const tools = [{ name: 'add', inputSchema: { type: 'object', later: 1 }, later: 1 }]
    expect(ListToolsResultSchema.parse({ tools }).tools).toEqual([
      { name: 'add', inputSchema: { type: 'object', later: 1 } },
    ])
  })

  it('read an empty elicitation capability as form elicitation, and null content as absent', () => {
    expect(ClientCapabilitiesSchema.parse({ elicitation: {} })).toEqual({ elicitation: { form: {} } })
    expect(ElicitResultSchema.parse({ action: 'cancel', content: null }).content).toBeUndefined()
  })

  it('are told from those of programs, and name their method', () => {
    expect(isProtocolSchema(CallToolRequestSchema)).toBe(true)
    expect(isProtocolSchema(CallToolRequestSchema.extend({}))).toBe(false)
    expect(methodOf(CallToolRequestSchema.extend({}))).toBe('tools/call')
    expect(() => methodOf(CallToolResultSchema)).toThrow('Schema is missing a method literal')
  })
})

describe('McpError', () => {
  it('has its code in the message', () => {
    const error = new McpError(ErrorCode.InvalidParams, 'Unknown tool', { name: 'x' })
    expect(error).toMatchObject({ name: 'McpError', code: -32602, data: { name: 'x' } })
    expect(error.message).toBe('MCP error -32602: Unknown tool')
    expect(ErrorCode[-32602]).toBe('InvalidParams')
  })

  it('becomes a UrlElicitationRequiredError if the code and the data say so', () => {
    const elicitations = [{ mode: 'url', message: 'Sign in', elicitationId: '1', url: 'https://example.com/' }] as const
    const error = McpError.fromError(-32042, 'Sign in first', { elicitations })
    expect(error).toBeInstanceOf(UrlElicitationRequiredError)
    expect((error as UrlElicitationRequiredError).elicitations).toEqual(elicitations)
    expect(McpError.fromError(-32042, 'Sign in first')).not.toBeInstanceOf(UrlElicitationRequiredError)
  })
})
