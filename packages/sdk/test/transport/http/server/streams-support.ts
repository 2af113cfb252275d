import type { McpServer } from 'tenon/server'
import { gate } from '../../../kit/gate.ts'

export const beforeResuming = ['2025-03-26', '2025-06-18'] as const
export const acknowledgement = 'notifications/subscriptions/acknowledged'

/** Registers a tool that logs at a level that is sent by default on handshake revisions. */
export function registerLogging(server: McpServer): void {
  server.registerTool('logs', {}, (_, ctx) => {
    ctx.log.error('something went wrong')
    return 'logged'
  })
}

/** Registers a tool whose progress is sent step by step by the test. */
export function registerStepwise(server: McpServer, name: string) {
  const began = gate<(step: number) => void>()
  const end = gate()
  server.registerTool(name, {}, async (_, ctx) => {
    began.open((step) => ctx.progress(step))
    await end.opened
    return `${name} is done`
  })
  return { began: began.opened, end: end.open }
}
