import { inspectServerResult } from './inspect.ts'
import { redactSecrets } from './secrets.ts'
import type { ToolNames } from './tool-orders.ts'

/** Much more than a message for people has. Inspecting as much takes 0.3 ms, or 4 ms if it is made to take long. */
const maxChars = 65_536

/**
 * Makes a log or progress message of a server safe to hand on. Nobody is asked about such messages: secrets are replaced, and a
 * message with anything else that is suspicious, or that is too long to be inspected, is withheld.
 */
export function cleanNotification(value: unknown, names: ToolNames | undefined, server: string): unknown {
  if (value === undefined || typeof value === 'number' || typeof value === 'boolean') return value
  const chars = typeof value === 'string' ? value.length : (JSON.stringify(value)?.length ?? 0)
  if (chars > maxChars) return '[withheld: too long to inspect]'
  const redacted = redactSecrets(value)
  const high = inspectServerResult(redacted, names, server).filter(({ severity }) => severity === 'high')
  if (high.length === 0) return redacted
  return `[withheld: ${[...new Set(high.map(({ rule }) => rule))].join(', ')}]`
}
