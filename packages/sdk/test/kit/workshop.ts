import { McpServer, type McpServerOptions } from 'tenon/server'
import { gate } from './gate.ts'
import { modern } from './revisions.ts'

export const onlyModern: McpServerOptions = { revisions: [modern] }

/** A server with one of each, whose changes go out soon. */
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

/** Wants progress, so that the answer becomes a stream. */
export const withProgress = { meta: { progressToken: 'p' } }

/** A tool that says on its stream that it has begun, and answers when the gate is opened or the caller is gone. */
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
