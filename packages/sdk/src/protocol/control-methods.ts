import type { ControlMethods } from '../jsonrpc/receiver.ts'

/** The MCP methods that a link itself acts on. */
export const controlMethods: ControlMethods = Object.freeze({
  handshake: 'initialize',
  cancelled: 'notifications/cancelled',
  progress: 'notifications/progress',
})
