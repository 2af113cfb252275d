import type { Finding } from '../findings/finding.ts'
import { toExcerpt } from '../findings/visible.ts'

/** Creates a finding about a command. */
export function danger(severity: Finding['severity'], message: string, text: string, where = 'command'): Finding {
  return { rule: 'dangerous-command', severity, where, message, excerpt: toExcerpt(text) }
}
