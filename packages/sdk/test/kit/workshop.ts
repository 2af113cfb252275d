import { McpServer, type McpServerOptions } from 'tenon/server'
import { gate } from './gate.ts'
import { modern } from './revisions.ts'

export const onlyModern: McpServerOptions = { revisions: [modern] }

/** Creates a server with one item of each kind and a short list_changed delay. */
export function workshop(options: McpServerOptions = {}): McpServer {
  const server = new McpServer({ name: 'workshop', version: '1.0.0' }, { listChangedDelayMs: 0, ...options })
  server.registerTool('echo', { inputSchema: { type: 'object', properties: { text: { type: 'string' } } } }, (args) =>
    String((args as { text?: string }).text ?? ''),
  )
  server.registerTool('revision', {}, (_, ctx) => ctx.caller.revision)
  server.registerTool('session', {}, (_, ctx) => ctx.sessionId ?? 'none')
  server.registerTool('steps', {}, (_, ctx) => {
    for (const step of [1, 2, 3]) ctx.progress(step, { total: 3 })
    return 'three steps'
  })
  server.registerPrompt('greet', {}, () => 'Hello')
  server.registerResource('note', 'note://a', {}, () => 'A note')
  return server
}

/** Requests progress, so that the response is a stream. */
export const withProgress = { meta: { progressToken: 'p' } }

/** Registers a tool that reports its start on the stream, and returns when the gate opens or the caller disconnects. */
export function registerSlow(server: McpServer, name = 'slow') {
  const finish = gate<string>()
  const aborted = gate<unknown>()
  const began = gate()
  server.registerTool(name, {}, async (_, ctx) => {
    ctx.signal.addEventListener('abort', () => aborted.open(ctx.signal.reason))
    ctx.progress(1)
    began.open()
    const text = await finish.opened
    ctx.progress(2)
    return text
  })
  return { finish: finish.open, aborted: aborted.opened, began: began.opened }
}
