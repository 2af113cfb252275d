/** Any JSON-RPC message as sent on the wire. */
export interface Message {
  jsonrpc?: unknown
  id?: unknown
  method?: string
  params?: Record<string, unknown> & { _meta?: Record<string, unknown> }
  result?: Record<string, unknown> & { content?: { text: string }[]; _meta?: Record<string, unknown> }
  error?: { code: number; message: string; data?: Record<string, unknown> }
}
