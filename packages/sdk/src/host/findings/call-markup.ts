import { Anchors } from './anchors.ts'
import type { Finding } from './finding.ts'
import type { JoinedTexts } from './texts.ts'
import type { ToolNames } from './tool-orders.ts'
import { toExcerpt } from './visible.ts'

/**
 * Finds calls of a tool of the catalog in the markup that models write calls in, and turns of a conversation that never happened
 * with such a call. A model may go on where they end. In documentation, the names are those of other tools.
 *
 * @param server The server that the text comes from. A call of its own tools is `low`.
 */
export function checkCallMarkup(texts: JoinedTexts, names: ToolNames | undefined, server?: string): Finding[] {
  if (!names) return []
  const { text } = texts
  const findings: Finding[] = []
  markup.scan(text, (kind, index) => {
    if (kind === 'turn' && !isAnswer(text, index)) return undefined
    const found = nameAfter(text, index, kind, names)
    if (!found) return undefined
    const { name, end } = found
    findings.push({
      rule: 'instructions',
      severity: names.get(name)?.server !== undefined && names.get(name)?.server === server ? 'low' : 'high',
      where: texts.whereIs(index),
      message: `The text contains ${kind === 'turn' ? 'turns of a conversation with a call' : 'the markup of a call'} of the tool "${toExcerpt(name, 80)}".`,
      excerpt: texts.excerpt(index, end),
    })
    return findings.length < maxFindings ? undefined : false
  })
  return findings
}

const maxFindings = 10
const maxCall = 300

const markup = new Anchors([
  ...['<invoke', '<function_call', '<function=', '<tool_call', '<tool_use', '[[tool', '[tool_call', '"tool_use"'].map(
    (text) => ({ text, value: 'call' as const }),
  ),
  ...['"function_call"', '"tool_calls"'].map((text) => ({ text, value: 'call' as const })),
  { text: 'assistant:', value: 'turn' as const },
])

/** Whether a turn of the user precedes that of the assistant, each at the beginning of a line. */
function isAnswer(text: string, index: number): boolean {
  const before = text.slice(Math.max(0, index - maxCall), index)
  return /(?:^|\n)[ \t*#]*$/.test(before) && /(?:^|\n)[ \t*#]*(?:human|user)[ \t*]*:/i.test(before)
}

function nameAfter(
  text: string,
  index: number,
  kind: 'call' | 'turn',
  names: ToolNames,
): { name: string; end: number } | undefined {
  const call = text.slice(index, index + maxCall)
  for (const { 0: name, index: offset } of call.matchAll(/[a-z][\w.\-/]*/gi)) {
    const named = names.get(name)
    // A name of one word counts only where a name has to be.
    const isNamed = /(?:\bname["']?\s{0,4}[:=]\s{0,4}["']?|tool:\s{0,4}|function=)$/i.test(call.slice(0, offset))
    if (named && (!named.isWord || (kind === 'call' && isNamed))) return { name, end: index + offset + name.length }
  }
  return undefined
}
