import { Anchors } from './anchors.ts'
import type { Finding } from './finding.ts'
import type { JoinedTexts } from './texts.ts'
import { toExcerpt } from './visible.ts'

/** The tools that a model can call, by name. */
export class ToolNames {
  readonly #byName = new Map<string, { readonly server: string | undefined; readonly isWord: boolean }>()

  constructor(tools: Iterable<{ readonly name: string; readonly originalName?: string; readonly server?: string }>) {
    for (const { name, originalName = name, server } of tools) {
      for (const each of [originalName, name]) {
        const isWord = !/[a-z\d][_\-./][a-z\d]|[a-z][A-Z]/.test(each)
        this.#byName.set(each.toLowerCase(), { server, isWord })
      }
    }
  }

  get(name: string): { readonly server: string | undefined; readonly isWord: boolean } | undefined {
    return this.#byName.get(name.toLowerCase().replace(/[.\-/]+$/, ''))
  }
}

/**
 * Finds orders to call a tool that the model has: `now call send_email with ...`. Data has no business to choose the next call.
 * Servers do say which of their own tools to use next, so those are `low`. Names of one word, such as `search`, count only where
 * the text calls them tools.
 *
 * @param server The server that the text comes from.
 */
export function checkToolOrders(texts: JoinedTexts, names: ToolNames | undefined, server?: string): Finding[] {
  if (!names) return []
  const { text } = texts
  const findings: Finding[] = []
  verbs.scan(text, (_, index) => {
    const finding = orderAt(texts, index, names, server)
    if (finding) findings.push(finding)
    return findings.length < maxFindings ? undefined : false
  })
  return findings
}

function orderAt(texts: JoinedTexts, index: number, names: ToolNames, server: string | undefined): Finding | undefined {
  const { text } = texts
  const after = text.slice(index, index + maxPhrase)
  const order = /\w/.test(text[index - 1] ?? '') ? null : phraseOfOrder.exec(after)
  if (!order || notAnOrder.test(text.slice(Math.max(0, index - 16), index))) return undefined
  for (const { 0: word, index: offset } of after.slice(order[0].length).matchAll(/[a-z][\w.\-/]*/gi)) {
    const end = order[0].length + offset + word.length
    const named = names.get(word)
    const isCalledTool =
      /\b(?:tool|function)["'`*\s]{1,4}$/i.test(after.slice(0, end - word.length)) ||
      /^["'`*\s]{1,4}tool\b/i.test(after.slice(end))
    if (named && (!named.isWord || isCalledTool))
      return toFinding(texts, index, index + end, word, named.server !== undefined && named.server === server)
    if (!fillers.test(word)) return undefined
  }
  return undefined
}

function toFinding(texts: JoinedTexts, start: number, end: number, name: string, isOwn: boolean): Finding {
  return {
    rule: 'instructions',
    severity: isOwn ? 'low' : 'high',
    where: texts.whereIs(start),
    message: `The text orders the model to call the tool "${toExcerpt(name, 80)}".`,
    excerpt: texts.excerpt(start, end),
  }
}

const maxPhrase = 200

/** Words between an order and the name of the tool. */
const fillers =
  /^(?:the|a|your|our|this|following|new|tool|function|and|to|with|is|off|call|use|run|invoke|execute|do)$/i

const maxFindings = 10

const verbs = new Anchors(
  [
    'call ',
    'invoke ',
    'run ',
    'execute ',
    'trigger ',
    'use ',
    'perform ',
    'launch ',
    'go ahead',
    'fire off',
    'kick off',
    'proceed ',
    'next step',
    'next thing',
  ].map((text) => ({ text, value: text })),
)

const phraseOfOrder =
  /^(?:(?:call|invoke|run|execute|trigger|use|perform|launch|proceed)[ \t]|go ahead|fire off|kick off|next (?:step|thing)(?: to do)?)/i

/** `You can use read_file` and `did not call read_file` are no orders. */
const notAnOrder = /\b(?:can|could|may|might|would|cannot|not|didn't|don't|never|i|we|they|or)[ \t]*$/i
