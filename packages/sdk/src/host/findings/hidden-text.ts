import { charClass, findRuns } from './encoded-text.ts'
import type { Finding } from './finding.ts'
import { decodeHiddenRun, findHidden, type HiddenKind, type HiddenRun } from './hidden-characters.ts'
import { findHiddenHtml } from './hidden-html.ts'
import type { JoinedTexts } from './texts.ts'
import { toExcerpt } from './visible.ts'

/** Where a text comes from. Definitions are written by hand, so what is ordinary in a document is suspicious there. */
export type TextSource = 'definitions' | 'data'

/** Finds invisible text: one finding per text and kind of character. */
export function checkHiddenText(texts: JoinedTexts, source: TextSource): Finding[] {
  const findings = texts.isPlain ? [] : checkCharacters(texts, source)
  const hidden = [...findings, ...checkHiddenHtml(texts, source)]
  return source === 'data' ? hidden : [...hidden, ...checkComments(texts), ...checkPadding(texts)]
}

function checkCharacters(texts: JoinedTexts, source: TextSource): Finding[] {
  const groups = groupRuns(
    findHidden(texts.text, (index) => texts.isStart(index)),
    texts,
  )
  return [...groups.values()].flatMap((runs) => toFinding(runs, texts, source) ?? [])
}

/** Decodes the texts in runs of variation selectors. Tag characters are part of `toSkeleton` already. */
export function decodeSelectors(text: string): { text: string; start: number }[] {
  if (!/[\ufe00-\ufe0f]{4}|(?:\udb40[\udd00-\uddef]){4}/.test(text)) return []
  const runs = findHidden(text, () => true).filter(({ kind }) => kind === 'variation')
  return runs.flatMap((run) => {
    const decoded = decodeHiddenRun(text, run)
    return decoded === undefined ? [] : [{ text: decoded, start: run.start }]
  })
}

function groupRuns(runs: readonly HiddenRun[], texts: JoinedTexts): Map<string, HiddenRun[]> {
  const groups = new Map<string, HiddenRun[]>()
  for (const run of runs) {
    const key = `${texts.partAt(run.start)} ${run.kind}`
    const group = groups.get(key)
    if (group) group.push(run)
    else groups.set(key, [run])
  }
  return groups
}

function toFinding(runs: readonly HiddenRun[], texts: JoinedTexts, source: TextSource): Finding | undefined {
  const first = runs.reduce((longest, run) => (run.end - run.start > longest.end - longest.start ? run : longest))
  if (source === 'data' && areLeftovers(runs, texts.text)) return undefined
  const severity = severities[source](first.kind, first.end - first.start, runs.length)
  if (severity === undefined) return undefined
  const decoded = decodeHiddenRun(texts.text, first)
  return {
    rule: 'hidden-text',
    severity,
    where: texts.whereIs(first.start),
    message: `${descriptions[first.kind]}${decoded === undefined ? '' : ` They spell: "${toExcerpt(decoded)}"`}`,
    excerpt: texts.excerpt(first.start, Math.min(first.end, first.start + 16)),
  }
}

/**
 * Whether characters are what editors leave behind: the selector of an emoji that was deleted or chosen twice, a joiner or a
 * zero-width space after a word that was copied. Fewer than eight cannot encode a character, and at the end of a word they do not split it.
 */
function areLeftovers(runs: readonly HiddenRun[], text: string): boolean {
  return (
    runs.length < 8 &&
    runs.every(({ kind, start, end }) => {
      const isOneOrTwice = end - start === 1 || (end - start === 2 && text[start] === text[start + 1])
      return (
        (kind === 'joiner' || kind === 'variation' || kind === 'zero-width') &&
        isOneOrTwice &&
        !/^[\p{L}\p{N}]/u.test(text.slice(end, end + 2))
      )
    })
  )
}

type Severity = Finding['severity'] | undefined

/** Longer runs can encode text; a single one usually comes from copying. */
const minEncodedChars = 4

const severities: Record<TextSource, (kind: HiddenKind, length: number, count: number) => Severity> = {
  definitions: (kind, length) => {
    const isHarmless = kind === 'direction-mark' || kind === 'private-use' || kind === 'soft-hyphen'
    return isHarmless && length < minEncodedChars ? 'low' : 'high'
  },
  data: (kind, length, count) => {
    if (kind === 'tag' || kind === 'override' || kind === 'conceal') return 'high'
    // Colors are ordinary in the output of a program.
    if (kind === 'control' || kind === 'private-use' || kind === 'color') return undefined
    const mayEncode = kind === 'zero-width' || kind === 'variation' || kind === 'direction-mark'
    return mayEncode && (length >= minEncodedChars || count >= 64) ? 'high' : 'low'
  },
}

const descriptions: Record<HiddenKind, string> = {
  'zero-width': 'The text contains invisible zero-width characters.',
  joiner: 'The text contains invisible joiners where no script needs them.',
  'direction-mark': 'The text contains direction marks, but no right-to-left text.',
  direction: 'The text changes the writing direction, so it may read differently from what it shows.',
  override: 'The text overrides the writing direction, so it reads differently from what it shows.',
  tag: 'The text contains invisible tag characters, which models read.',
  variation: 'The text contains variation selectors that select nothing. They can encode text.',
  'private-use': 'The text contains private-use characters, which have no defined meaning.',
  'soft-hyphen': 'The text contains runs of soft hyphens, which are invisible.',
  control: 'The text contains control characters.',
  escape: 'The text contains terminal escape sequences, which can hide or overwrite text.',
  conceal: 'The text contains a terminal escape sequence that hides text.',
  color: 'The text contains colors of a terminal, which can hide text. A definition has no use for them.',
}

/** Pages hide much, so in data only hidden text that addresses a model counts. */
function checkHiddenHtml(texts: JoinedTexts, source: TextSource): Finding[] {
  return findHiddenHtml(texts.text, source === 'data', maxPerCheck).map(({ start, end }) => ({
    rule: 'hidden-text',
    severity: 'high',
    where: texts.whereIs(start),
    message: 'The text contains an HTML element that is not shown, but that models read.',
    excerpt: texts.excerpt(start, end, 0),
  }))
}

/** User interfaces that render Markdown do not show HTML comments, but models read them. */
function checkComments(texts: JoinedTexts): Finding[] {
  const findings: Finding[] = []
  const { text } = texts
  let start = text.indexOf('<!--')
  while (start >= 0 && findings.length < maxPerCheck) {
    const close = text.indexOf('-->', start)
    const end = close < 0 ? text.length : close + 3
    const message = 'The text contains an HTML comment, which many user interfaces do not show.'
    const excerpt = toExcerpt(text.slice(start, Math.min(end, start + 1_000)))
    findings.push({ rule: 'hidden-text', severity: 'low', where: texts.whereIs(start), message, excerpt })
    start = text.indexOf('<!--', end)
  }
  return findings
}

/** Enough to move the text that follows out of view. */
const minPadding = 120
const isPadding = charClass(/\s/)

function checkPadding(texts: JoinedTexts): Finding[] {
  const findings: Finding[] = []
  findRuns(texts.text, isPadding, minPadding, (start, end) => {
    if (findings.length >= maxPerCheck) return
    const message = `The text contains ${end - start} spaces or line breaks in a row, which can move what follows out of view.`
    const excerpt = toExcerpt(texts.text.slice(end, end + 160))
    findings.push({ rule: 'hidden-text', severity: 'low', where: texts.whereIs(start), message, excerpt })
  })
  return findings
}

const maxPerCheck = 10
