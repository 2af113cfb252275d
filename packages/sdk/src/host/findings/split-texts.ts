import type { Definitions } from '../definitions.ts'
import type { Finding } from './finding.ts'
import { checkInstructions } from './instructions.ts'
import { findSecrets } from './secrets.ts'
import { JoinedTexts } from './texts.ts'
import { toExcerpt } from './visible.ts'

/** Finds orders and secrets that are split over the descriptions of several tools, each of which looks harmless on its own. */
export function checkSplitTexts({ tools }: Definitions): Finding[] {
  const described = tools.slice(0, maxTools).flatMap(({ name, description }) => {
    return description === undefined
      ? []
      : [{ where: `tool ${toExcerpt(name, 80)}, description`, text: description.slice(0, maxChars) }]
  })
  if (described.length < 2) return []
  return [
    ...checkFragments(described),
    ...checkSplitWords(described),
    ...checkParts(described),
    ...checkSecretParts(described),
  ]
}

interface Described {
  readonly where: string
  readonly text: string
}

const maxTools = 1_000
const maxChars = 4_000

/**
 * Sentences that begin in one description and end in another one. What surrounds them keeps the other checks from seeing them
 * as one text.
 */
function checkFragments(described: readonly Described[]): Finding[] {
  const texts = new JoinedTexts(maxTools * maxChars)
  for (const { where, text } of described) {
    const sentences = text.split(/(?<=[.!?:)])\s+/)
    if (sentences.length < 2) continue
    const fragments = sentences.filter(
      (sentence, index) => index > 0 && (/^[a-z]/.test(sentence) || !/[.!?]$/.test(sentence)),
    )
    if (fragments.length > 0) texts.add(fragments.join(' '), { key: where })
  }
  return checkInstructions(texts, 'definitions').filter(({ where }) => where.includes(' to '))
}

/** Orders that are split within a word: `ignore all prev` and `ious instructions`. */
function checkSplitWords(described: readonly Described[]): Finding[] {
  const texts = new JoinedTexts(maxTools * maxChars, '')
  for (const { where, text } of described) texts.add(text.trim(), { key: where })
  return checkInstructions(texts, 'definitions').filter(({ where }) => where.includes(' to '))
}

/** A description that says it is the second part of something is not the description of a tool. */
function checkParts(described: readonly Described[]): Finding[] {
  const parts = described.filter(({ text }) => partMarker.test(text))
  if (parts.length < 2) return []
  const message = 'The descriptions of several tools are numbered parts of one text.'
  const [{ where, text }] = parts as [Described]
  return [{ rule: 'instructions', severity: 'high', where, message, excerpt: toExcerpt(text, 160) }]
}

const partMarker =
  /\b(?:part|piece|fragment|chunk) \d{1,2} ?(?:of|\/) ?\d{1,2}\b|[([]\d{1,2} ?\/ ?\d{1,2}[)\]]|(?:^|[.!?] )(?:part|piece|fragment|chunk) (?:\d|one|two|three|four|five|six)\b[^.:]{0,40}:/i

/** A token that begins in one description and goes on in the next ones. */
function checkSecretParts(described: readonly Described[]): Finding[] {
  const words = described.flatMap(({ where, text }) =>
    [...text.matchAll(/(?<![\w/-])[\w-]{8,80}(?![\w/-])/g)]
      .filter(([word]) => /\d/.test(word) && /[A-Za-z]/.test(word))
      .map(([word]) => ({ where, word })),
  )
  for (const [index, { where, word }] of words.slice(0, maxWords).entries()) {
    for (const length of [2, 3, 4]) {
      const parts = words.slice(index, index + length)
      const [secret] = findSecrets(parts.map((part) => part.word).join(''))
      const isSplit = parts.length === length && parts.at(-1)?.where !== where
      if (!secret || secret.start > 0 || !isSplit || secret.end <= word.length) continue
      const message = `The descriptions of several tools contain the parts of what looks like a secret: ${secret.kind}.`
      return [{ rule: 'secret', severity: 'high', where, message, excerpt: `${word.slice(0, 4)}…` }]
    }
  }
  return []
}

const maxWords = 500
