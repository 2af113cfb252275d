import type { Finding } from './finding.ts'
import { checkInstructions } from './instructions.ts'
import { isMadeUp } from './secret-patterns.ts'
import { findSecrets, secretFinding } from './secrets.ts'
import { describePlace, JoinedTexts, type Place } from './texts.ts'
import { checkToolOrders, type ToolNames } from './tool-orders.ts'

/** The text of a content block. */
export interface TextBlock {
  readonly text: string
  readonly place: Place
}

/**
 * Finds secrets and orders that begin in one content block and end in another, with or without the white space between them. A
 * model reads the blocks as one text.
 */
export function checkSplitBlocks(
  blocks: readonly TextBlock[],
  names: ToolNames | undefined,
  server: string | undefined,
): Finding[] {
  if (blocks.length < 2) return []
  const orders = ['\n', ''].flatMap((separator) => {
    const texts = new JoinedTexts(maxChars, separator)
    for (const { text, place } of blocks) texts.add(endsOf(text), place)
    const found = [...checkInstructions(texts, 'data'), ...checkToolOrders(texts, names, server)]
    return found.filter(({ where }) => where.includes(' to '))
  })
  const secrets = findSplitSecrets(blocks.map(({ text }) => text)).filter(({ secret }) => !isMadeUp(secret))
  const found = secrets.slice(0, maxFindings).map(({ kind, secret, parts }) => {
    const [first, last] = [parts[0]!, parts.at(-1)!].map(({ block }) => describePlace(blocks[block]!.place))
    return secretFinding(kind, `${first} to ${last}`, secret)
  })
  return [...orders.slice(0, maxFindings), ...found]
}

/** A secret of which every part is in another block. */
export interface SplitSecret {
  readonly kind: string
  readonly secret: string
  readonly parts: readonly { readonly block: number; readonly start: number; readonly end: number }[]
}

/** Finds secrets that begin in one text and end in a later one. White space at the ends of the texts does not count. */
export function findSplitSecrets(texts: readonly string[]): SplitSecret[] {
  if (texts.length < 2) return []
  const joined = texts.map((text) => text.trim()).join('')
  const found: SplitSecret[] = []
  let block = 0
  /** Where the current text begins in the joined one. */
  let offset = 0
  for (const { kind, start, end } of findSecrets(joined)) {
    while (offset + texts[block]!.trim().length <= start) offset += texts[block++]!.trim().length
    const parts: SplitSecret['parts'][number][] = []
    for (let next = block, at = offset; at < end; next++) {
      const text = texts[next]!
      const { length } = text.trim()
      const indent = text.length - text.trimStart().length
      const from = Math.max(start - at, 0)
      const to = Math.min(end - at, length)
      if (to > from) parts.push({ block: next, start: indent + from, end: indent + to })
      at += length
    }
    if (parts.length > 1) found.push({ kind, secret: joined.slice(start, end), parts })
  }
  return found
}

const maxFindings = 20
/** Orders are short, so only the ends of blocks can have a part of one. */
const endChars = 400
const maxChars = 262_144

function endsOf(text: string): string {
  return text.length <= 2 * endChars ? text : `${text.slice(0, endChars)}\n…\n${text.slice(-endChars)}`
}
