import type { Finding } from '../findings/finding.ts'
import { excerptOf } from './visible.ts'

/** Creates a finding about a command. */
export function danger(severity: Finding['severity'], message: string, text: string, where = 'command'): Finding {
  return { rule: 'dangerous-command', severity, where, message, excerpt: excerptOf(text) }
}
