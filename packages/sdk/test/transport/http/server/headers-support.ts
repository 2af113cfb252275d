import { metaKeys } from 'tenon'
import type { Message } from '../../../kit/message.ts'
import { rawPost as postLines } from '../../../kit/raw-http.ts'
import { modern } from '../../../kit/revisions.ts'
import { workshop } from '../../../kit/workshop.ts'

export const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`

/** Tools with various names, and one that mirrors arguments of every type and returns its arguments. */
export function mirroring() {
  const server = workshop()
  const properties = {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    count: { type: 'integer', 'x-mcp-header': 'Count' },
    dry: { type: 'boolean', 'x-mcp-header': 'Dry-Run' },
    deep: { type: 'object', properties: { tenant: { type: ['string', 'null'] } } },
    nested: { type: 'object', properties: { tenant: { type: 'string', 'x-mcp-header': 'Tenant' } } },
    free: { type: 'string' },
  }
  const calls: unknown[] = []
  server.registerTool('mirror', { inputSchema: { type: 'object', properties } }, (args) => {
    calls.push(args)
    return JSON.stringify(args)
  })
  return { server, calls }
}

export function call(name: string, args: Record<string, unknown>): Message {
  const _meta = { [metaKeys.protocolVersion]: modern, [metaKeys.clientCapabilities]: {} }
  return { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args, _meta } }
}

export function rawCall(port: number, name: string, args: Record<string, unknown>, lines: readonly string[]) {
  const standard = ['Mcp-Method: tools/call', `Mcp-Name: ${name}`, `MCP-Protocol-Version: ${modern}`]
  return rawPost(port, [...standard, ...lines], call(name, args))
}

export async function rawPost(port: number, lines: readonly string[], message: Message) {
  const common = [
    `Host: 127.0.0.1:${port}`,
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
  ]
  return postLines(port, [...common, ...lines], JSON.stringify(message))
}
