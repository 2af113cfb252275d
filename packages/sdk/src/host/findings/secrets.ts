import { define, isObject, type JsonObject } from '../../util/objects.ts'
import { Anchors } from './anchors.ts'
import { decodeEscapes, decodeTexts } from './encoded-text.ts'
import type { Finding } from './finding.ts'
import { logSecretPatterns } from './log-secret-patterns.ts'
import { findCardNumbers } from './payment-data.ts'
import {
  begin,
  isMadeUp,
  isSecretValue,
  readSecretName,
  type SecretName,
  type SecretPattern,
  secretPatterns,
} from './secret-patterns.ts'
import { describePlace, type JoinedTexts, minEncodedChars, type Place } from './texts.ts'

/** A key, token or password in a text. */
export interface Secret {
  /** What it is, such as `GitHub token`. */
  readonly kind: string
  readonly start: number
  readonly end: number
}

/**
 * Finds keys, tokens, private keys and passwords in a text, in linear time. Identifiers, hashes and images are not secrets.
 *
 * @example
 * findSecrets('Log in with https://admin:Vq8sPz1m@db.example') // [{ kind: 'password in a URL', start: 20, end: 28 }]
 */
export function findSecrets(text: string): Secret[] {
  return findUpTo(text, maxSecrets, anchors)
}

function findUpTo(text: string, limit: number, anchors: Anchors<AnchoredPattern>): Secret[] {
  const found: Secret[] = []
  let end = 0
  let checked = 0
  let nested = 0
  anchors.scan(text, ({ kind, pattern, check, isWord }, index) => {
    // Several patterns can match the same characters; the first one that starts there counts.
    if (index < end || (isWord && isWordChar(text.charCodeAt(index - 1)))) return undefined
    pattern.lastIndex = index
    const match = pattern.exec(text)
    if (!match) return undefined
    const range = check ? check(match) : ([0, match[0].length] as const)
    nested = index < checked ? nested + 1 : 0
    checked = Math.max(checked, index + match[0].length)
    // Names within values that are names again take long to read, and no ordinary text has them: all of it counts.
    if (!range && nested < maxNested) return undefined
    end = range ? index + range[1] : checked
    found.push({ kind, start: index + (range?.[0] ?? 0), end })
    return found.length < limit ? undefined : false
  })
  return found
}

const maxNested = 4

function isWordChar(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 48 && code <= 57) ||
    code === 95 ||
    code === 45
  )
}

/**
 * Copies a JSON value with every secret replaced by text such as `[redacted GitHub token]`. Also replaces the values of members
 * whose names say that they are secret, and credentials in headers, URLs, forms and command lines.
 *
 * @example
 * redactSecrets({ user: 'ada', password: 'Vq8sPz1m' }) // { user: 'ada', password: '[redacted password]' }
 */
export function redactSecrets(value: unknown): unknown {
  return redact(value, 0)
}

/**
 * Finds secrets in texts: one finding per secret, which does not show it. Leaves out those that are obviously made up. Encoded
 * secrets count as well: each reader of the text can decode them.
 */
export function checkSecrets(texts: JoinedTexts): Finding[] {
  const { text } = texts
  const found = realSecrets(text).map(({ kind, start, end }) =>
    secretFinding(kind, texts.whereIs(start), text.slice(start, end)),
  )
  for (const { text: decoded, encoding, start } of texts.decoded) {
    if (found.length >= maxFindings) break
    for (const secret of realSecrets(decoded))
      found.push(
        secretFinding(`${secret.kind} in ${encoding}`, texts.whereIs(start), decoded.slice(secret.start, secret.end)),
      )
  }
  return [...found, ...checkEscaped(texts, found.length), ...checkCards(texts)].slice(0, maxFindings)
}

/** Shops and banks handle card numbers all day, so they are shown only. */
function checkCards(texts: JoinedTexts): Finding[] {
  return findCardNumbers(texts.text, maxCards).map(({ start }) => ({
    rule: 'secret',
    severity: 'low',
    where: texts.whereIs(start),
    message: 'The text contains what looks like the number of a payment card.',
    excerpt: `${texts.text.slice(start, start + 4)}…`,
  }))
}

const maxCards = 10

/** Secrets in percent-encoding and escapes, and those with invisible characters between their characters. */
function checkEscaped(texts: JoinedTexts, found: number): Finding[] {
  const isWritten = (text: string) => /%[0-9a-f]{2}|\\(?:u00|x)[2-7]/i.test(text)
  if (found >= maxFindings || (texts.isPlain && !isWritten(texts.text))) return []
  const plain = texts.map(decodeEscapes)
  if (plain.text === texts.text) return []
  return realSecrets(plain.text).flatMap(({ kind, start, end }) => {
    const secret = plain.text.slice(start, end)
    return texts.text.includes(secret)
      ? []
      : [secretFinding(`${kind}, written in escapes`, plain.whereIs(start), secret)]
  })
}

function realSecrets(text: string): Secret[] {
  const all = findSecrets(text)
  // After so many, a real one may follow that was not looked for.
  return all.length < maxSecrets ? all.filter(({ start, end }) => !isMadeUp(text.slice(start, end))) : all
}

/** Finds members whose names say that their values are secret. */
export class SecretMembers {
  readonly findings: Finding[] = []

  check(place: Place, value: string): void {
    const { key } = place
    if (typeof key !== 'string' || value.length > maxMemberChars || this.findings.length >= maxFindings) return
    if (isSecretValue(knownSecretName(key), value) && !isMadeUp(value))
      this.findings.push(secretFinding('password or key', describePlace(place), value))
  }
}

/** Results have few different names, but many members. */
const knownNames = new Map<string, SecretName>()
const maxKnownNames = 1_000
const maxKnownChars = 64

function knownSecretName(key: string): SecretName {
  if (key.length > maxKnownChars) return readSecretName(key)
  const known = knownNames.get(key)
  if (known !== undefined || knownNames.has(key)) return known
  const name = readSecretName(key)
  // A server that makes up names must not keep those of other servers out for ever.
  if (knownNames.size >= maxKnownNames) knownNames.clear()
  knownNames.set(key, name)
  return name
}

const maxMemberChars = 4_096
const maxFindings = 50
/** Far beyond this, a text consists of secrets, and `redactSecrets` replaces all of it. */
const maxSecrets = 10_000
const maxDepth = 600

interface AnchoredPattern extends SecretPattern {
  /** Whether nothing that belongs to a word may precede it. Looked at first: a pattern takes much longer. */
  readonly isWord: boolean
}

const anchors = anchorsOf(secretPatterns)
const redactedAnchors = anchorsOf([...secretPatterns, ...logSecretPatterns])

function anchorsOf(patterns: readonly SecretPattern[]): Anchors<AnchoredPattern> {
  return new Anchors(
    patterns.flatMap((pattern) => {
      const value = { ...pattern, isWord: pattern.pattern.source.startsWith(begin) }
      return pattern.anchors.map((text) => ({ text, value }))
    }),
  )
}

function redact(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redactText(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth > maxDepth) return '[too deep]'
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1))
  if (!isObject(value)) return value
  const copy: JsonObject = {}
  for (const key of Object.keys(value)) define(copy, redactText(key), redactMember(key, value[key], depth))
  return copy
}

function redactMember(key: string, value: unknown, depth: number): unknown {
  // Passwords and codes may be numbers. Small ones are counts and flags.
  if (typeof value === 'number' && Math.abs(value) > 9_999 && isSecretValue(readSecretName(key), String(value)))
    return '[redacted password]'
  if (typeof value !== 'string' || !isSecretValue(readSecretName(key), value)) return redact(value, depth + 1)
  const [secret] = findSecrets(value)
  const isWhole = secret !== undefined && secret.start === 0 && secret.end === value.length
  return `[redacted ${isWhole ? secret.kind : 'password'}]`
}

function redactText(text: string): string {
  const secrets = withCardsAndEncoded(findUpTo(text, maxSecrets, redactedAnchors), text)
  if (secrets.length === 0) return text
  if (secrets.length >= maxSecrets) return '[redacted text]'
  let result = ''
  let last = 0
  for (const { kind, start, end } of secrets) {
    result += `${text.slice(last, start)}[redacted ${kind}]`
    last = end
  }
  return result + text.slice(last)
}

/** Adds numbers of cards, and base64 and hexadecimal text that contains a secret. */
function withCardsAndEncoded(secrets: Secret[], text: string): Secret[] {
  const encoded = decodeTexts(text, { minChars: minEncodedChars, maxChars: Number.POSITIVE_INFINITY }).flatMap(
    ({ text: decoded, start, end }) => {
      const [secret] = findUpTo(decoded, 1, redactedAnchors)
      if (!secret) return []
      const padding = /^={0,2}/.exec(text.slice(end, end + 2))![0].length
      return [{ kind: secret.kind, start, end: end + padding }]
    },
  )
  const cards = findCardNumbers(text, maxSecrets).map((range) => ({ kind: 'card number', ...range }))
  if (encoded.length + cards.length === 0) return secrets
  let last = 0
  return [...secrets, ...encoded, ...cards]
    .sort((a, b) => a.start - b.start)
    .filter(({ start, end }) => {
      if (start < last) return false
      last = end
      return true
    })
}

/** Creates the finding for a secret, which does not show it. */
export function secretFinding(kind: string, where: string, secret: string): Finding {
  // A few characters are enough to recognize it, and too few to use it.
  const excerpt = secret.length >= 20 ? `${secret.slice(0, 4)}… (${secret.length} characters)` : '…'
  return {
    rule: 'secret',
    severity: 'high',
    where,
    message: `The text contains what looks like a secret: ${kind}.`,
    excerpt,
  }
}
