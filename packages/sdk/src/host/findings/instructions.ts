import { Anchors } from './anchors.ts'
import type { Finding } from './finding.ts'
import { decodeSelectors, type TextSource } from './hidden-text.ts'
import { foreignOrders, type InstructionRule, instructionRules } from './instruction-rules.ts'
import { toSkeleton } from './look-alikes.ts'
import type { JoinedTexts } from './texts.ts'
import { toExcerpt } from './visible.ts'

/**
 * Finds text that tells a model what to do, instead of describing a tool or being data. Texts are checked together, so an order
 * that is split over several descriptions is found as well, and so are orders in base64, hexadecimal or invisible characters and
 * with letters of other scripts.
 */
export function checkInstructions(texts: JoinedTexts, source: TextSource): Finding[] {
  const { text } = texts
  const skeletons = texts.isPlain || !/[^\0-\x7f]/.test(text) ? texts : texts.map(toSkeleton)
  const { matches, isComplete } = findOrders(skeletons.text, source, skeletons)
  const found = matches.map((match) => toFinding(match, texts, skeletons))
  for (const { text: decoded, start } of texts.isPlain ? [] : decodeSelectors(text)) {
    found.push(...checkDecoded(decoded, source, { encoding: 'invisible characters', where: texts.whereIs(start) }))
  }
  for (const { text: decoded, encoding, start, end } of texts.decoded) {
    found.push(...checkDecoded(decoded, source, { encoding, where: texts.whereIs(start, end) }))
  }
  if (!texts.isPlain) found.push(...checkForeign(texts))
  if (!isComplete) found.push(floodOfPhrases(texts))
  return uniqueFindings(found)
}

/** One finding per place and message: several anchors of a rule find the same phrase. */
export function uniqueFindings(findings: readonly Finding[]): Finding[] {
  if (findings.length < 2) return [...findings]
  const byKey = new Map<string, Finding>()
  for (const finding of findings) {
    const key = `${finding.where}\n${finding.message}`
    if (!byKey.has(key)) byKey.set(key, finding)
  }
  return [...byKey.values()]
}

/** A part of a text that a rule matches. */
interface Match {
  readonly rule: InstructionRule
  readonly start: number
  readonly end: number
}

const anchors: Readonly<Record<TextSource, Anchors<CompiledRule>>> = {
  definitions: anchorsOf(instructionRules),
  data: anchorsOf(instructionRules.filter(({ isForDefinitions }) => !isForDefinitions)),
}

function anchorsOf(rules: readonly InstructionRule[]): Anchors<CompiledRule> {
  return new Anchors(
    rules.flatMap((rule) => {
      const value = compile(rule)
      return rule.anchors.map((text) => ({ text, isWord: /^[a-z]+$/.test(text), value }))
    }),
  )
}

interface CompiledRule {
  readonly rule: InstructionRule
  readonly pattern: RegExp
  readonly and: RegExp | undefined
}

function compile(rule: InstructionRule): CompiledRule {
  return { rule, pattern: spaced(rule.pattern), and: rule.and && spaced(rule.and) }
}

function spaced({ source }: RegExp): RegExp {
  const blanks = '[\\s"\'`*]'
  return new RegExp(source.replaceAll(' ?', `${blanks}*`).replaceAll(' ', `${blanks}+`), 'i')
}

/** Characters before and after an anchor that a pattern sees, unless the rule needs more. */
const charsAround = 110
/** Bounds the work on a text that consists of anchors. */
const maxWindows = 20_000
const maxMatches = 50

/** @param texts The texts that `text` consists of. A rule sees one of them, unless it says that its phrase may be split. */
function findOrders(text: string, source: TextSource, texts?: JoinedTexts): { matches: Match[]; isComplete: boolean } {
  const matches: Match[] = []
  let windows = 0
  let isComplete = true
  anchors[source].scan(text, ({ rule, pattern, and }, index) => {
    // The rest may be worse than what was found.
    isComplete = ++windows <= maxWindows && matches.length < maxMatches
    if (!isComplete) return false
    const [first, last] = texts && !rule.mayBeSplit ? texts.boundsAt(index) : [0, text.length]
    const reach = rule.charsAround ?? charsAround
    const from = Math.max(first, index - reach)
    const window = text.slice(from, Math.min(last, index + reach))
    if (rule.contains !== undefined && !window.includes(rule.contains)) return undefined
    const match = pattern.exec(window)
    if (match && (!and || and.test(window)))
      matches.push({ rule, start: from + match.index, end: from + match.index + match[0].length })
    return undefined
  })
  return { matches, isComplete }
}

function toFinding({ rule, start, end }: Match, texts: JoinedTexts, skeletons: JoinedTexts): Finding {
  const phrase = skeletons.text.slice(start, end)
  const original = texts.slice(skeletons.partAt(start), skeletons.partAt(end - 1))
  const isDisguised = texts !== skeletons && !original.replace(/[\u2018\u2019\u201c\u201d]/g, "'").includes(phrase)
  const message = isDisguised ? `${rule.message} It is disguised by special characters.` : rule.message
  const where = skeletons.whereIs(start, end)
  return { rule: rule.rule ?? 'instructions', severity: rule.severity, where, message, excerpt: toExcerpt(phrase) }
}

function checkDecoded(
  decoded: string,
  source: TextSource,
  { encoding, where }: { readonly encoding: string; readonly where: string },
): Finding[] {
  const skeleton = toSkeleton(decoded)
  return findOrders(skeleton, source).matches.map(({ rule, start, end }) => ({
    rule: rule.rule ?? 'instructions',
    severity: rule.severity,
    where,
    message: `${rule.message} It is encoded in ${encoding}.`,
    excerpt: toExcerpt(skeleton.slice(start, end)),
  }))
}

function checkForeign(texts: JoinedTexts): Finding[] {
  const { text } = texts
  if (!/[\u0400-\u06ff\u3040-\u9fff\uac00-\ud7af]/.test(text)) return []
  const match = foreignOrders.exec(text)
  if (!match) return []
  const where = texts.whereIs(match.index)
  const message = 'The text orders the model to ignore its instructions.'
  return [{ rule: 'instructions', severity: 'high', where, message, excerpt: toExcerpt(match[0]) }]
}

function floodOfPhrases(texts: JoinedTexts): Finding {
  return {
    rule: 'not-inspected',
    severity: 'high',
    where: texts.whereIs(0),
    message: `The text contains more than ${maxMatches} orders, or ${maxWindows} words that can be part of one, so the rest was not inspected.`,
    excerpt: toExcerpt(texts.text.slice(0, 160)),
  }
}
