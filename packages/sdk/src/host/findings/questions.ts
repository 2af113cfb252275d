import type { ElicitFormParams, ElicitSchema } from '../../protocol/elicitation.ts'
import { secretField } from '../../protocol/form.ts'
import { isObject, omit } from '../../util/objects.ts'
import type { Finding } from './finding.ts'
import { isPaymentData } from './properties.ts'
import { toExcerpt } from './visible.ts'

/**
 * Finds forms that ask for passwords, keys, seed phrases or card numbers, by the names, titles and texts of their fields and by
 * the message (2025-11-25 elicitation: servers must not request such data in form mode).
 */
export function checkForm({ message, requestedSchema }: ElicitFormParams): Finding[] {
  const findings = [...checkText(message, 'question, message')]
  const { properties } = requestedSchema as { properties?: unknown }
  for (const [name, field] of Object.entries(isObject(properties) ? properties : {})) {
    if (findings.length >= maxFindings) break
    const where = `question, requestedSchema, ${toExcerpt(name, 80)}`
    const { title, description } = isObject(field) ? field : {}
    if (asksForSecret(name, field)) findings.push(toFinding(where, typeof title === 'string' ? title : name))
    else findings.push(...checkText(title, where), ...checkText(description, where))
  }
  return findings.slice(0, maxFindings)
}

const maxFindings = 20
const maxNameChars = 200

function toFinding(where: string, text: string): Finding {
  const message = 'The form asks for a password, a key, a seed phrase, a card number or the like.'
  return { rule: 'credentials', severity: 'high', where, message, excerpt: toExcerpt(text, 80) }
}

/** Whether the name or title of a field says that its value is a secret. The name of a key, for example, is none. */
function asksForSecret(name: string, field: unknown): boolean {
  if (isPaymentData(name.slice(0, maxNameChars).replace(/[^\p{L}\d]/gu, ''))) return true
  if (!isObject(field)) return false
  const isAbout = typeof field.title === 'string' && about.test(field.title)
  const properties = { [name]: isAbout ? omit(field, ['title']) : field }
  return secretField({ type: 'object', properties } as unknown as ElicitSchema) !== undefined
}

function checkText(text: unknown, where: string): Finding[] {
  if (typeof text !== 'string') return []
  const [found] = text.slice(0, maxTextChars).match(request) ?? []
  return found === undefined || about.test(found) ? [] : [toFinding(where, found)]
}

const maxTextChars = 20_000

const request =
  /\b(?:enter|type|provide|paste|supply|give|share|submit|confirm|need|input|tell|what(?:'s| is))\b[^\n.]{0,30}?\b(?:your|the|an?|current|old|new)\b[^\n.]{0,30}?\b(?:passwords?|passphrase|passcode|api[ -]?(?:keys?|tokens?)|(?:access|auth|bearer|refresh|session) tokens?|(?:secret|private|ssh) keys?|client secret|(?:seed|recovery|mnemonic) (?:phrase|words)|(?:one-time|2fa|mfa|verification) code|(?:credit |debit )?card number|cvv|cvc|social security number)\b(?! (?:name|label|length|policy|id|type|manager|reset|page|rules?|expiry|rotation))/i

/** Texts about a secret, such as its name, do not ask for it. */
const about =
  /\b(?:names?|labels?|titles?|length|policy|kind|type|number|owner|expiry|description|purpose) (?:of|for)\b/i
