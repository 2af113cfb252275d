import { McpServer, type McpServerOptions } from 'tenon/server'
import { type TasksOptions, tasks } from 'tenon/tasks'
import * as z from 'zod'
import { gate } from '../kit/gate.ts'

export const legacy = '2025-11-25'
export const modern = '2026-07-28'
export const extensionId = 'io.modelcontextprotocol/tasks'

export const accept = (content: Record<string, string | number | boolean> = { sure: true }) => ({
  action: 'accept' as const,
  content,
})

/** Creates a server with tools that run as tasks in different ways. */
export function labServer(options: TasksOptions = {}, server: McpServerOptions = {}) {
  const lab = new McpServer(
    { name: 'lab', version: '1.0.0' },
    { ...server, tasks: tasks({ pollIntervalMs: 20, drainMs: 50, ...options }) },
  )
  const started = gate()
  const release = gate()
  const stopped = gate()
  const always = { execution: { taskSupport: 'optional' as const }, taskPolicy: 'always' as const }
  lab.registerTool('steps', { inputSchema: { name: z.string() }, ...always }, async ({ name }, ctx) => {
    ctx.task?.status('half way')
    const { action, content } = await ctx.elicit(`Go on, ${name}?`, z.object({ sure: z.boolean() }))
    return `${name} ${action} ${content?.sure}`
  })
  lab.registerTool('wait', always, async (_, ctx) => {
    ctx.signal.addEventListener('abort', () => stopped.open())
    started.open()
    await Promise.race([release.opened, stopped.opened])
    return 'waited'
  })
  lab.registerTool('must', { execution: { taskSupport: 'required' } }, (_, ctx) => `a task: ${ctx.task !== undefined}`)
  lab.registerTool('plain', {}, (_, ctx) => `a task: ${ctx.task !== undefined}`)
  lab.registerTool('broken', always, () => {
    throw new Error('No paper')
  })
  lab.registerTool('refused', always, async (_, ctx) => {
    await ctx.sample({ messages: [], maxTokens: 0 })
    return 'never'
  })
  return { lab, started: started.opened, release: () => release.open(), stopped: stopped.opened }
}
