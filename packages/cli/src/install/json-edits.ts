import { applyEdits, type Edit, findNodeAtLocation, type Node } from 'jsonc-parser'

/** A JSON text with comments, and its root object. */
export interface Document {
  readonly text: string
  readonly root: Node
}

/**
 * Sets `root[container][name]`. Only the lines of the new member change: the editing functions of the library would also
 * format the members next to it.
 */
export function setMember({ text, root }: Document, container: string, name: string, value: unknown): string {
  const existing = findNodeAtLocation(root, [container, name])
  if (existing) {
    const { offset, length } = existing
    return applyEdits(text, [{ offset, length, content: format(value, indentAt(text, offset), text) }])
  }
  const parent = findNodeAtLocation(root, [container])
  if (parent) return insert(text, parent, name, value)
  return insert(text, root, container, { [name]: value })
}

/** Removes `root[container][name]`, with the comment on its line. */
export function removeMember({ text, root }: Document, container: string, name: string): string {
  const property = findNodeAtLocation(root, [container, name])?.parent
  const siblings = property?.parent?.children ?? []
  if (!property) return text
  const { comma, end } = readTail(text, property)
  const previous = siblings[siblings.indexOf(property) - 1]
  const needsComma = comma === undefined && previous ? readTail(text, previous).comma : undefined
  const start = startOfLine(text, property.offset)
  // If other members are on the same line, only the member itself goes.
  const isAlone = /^\s*$/.test(text.slice(start, property.offset)) && /^[ \t]*(?:\r?\n|$)/.test(text.slice(end))
  const lineEnd = isAlone ? end + (/^[ \t]*(?:\r?\n)?/.exec(text.slice(end))?.[0].length ?? 0) : (comma ?? end - 1) + 1
  const from = isAlone ? start : property.offset
  const edits: Edit[] = [{ offset: from, length: lineEnd - from, content: '' }]
  if (needsComma !== undefined) edits.unshift({ offset: needsComma, length: 1, content: '' })
  return applyEdits(text, edits)
}

function insert(text: string, parent: Node, name: string, value: unknown): string {
  const eol = eolOf(text)
  const outer = indentAt(text, parent.offset)
  const last = parent.children?.at(-1)
  // New members are indented like those that are there.
  const inner = last && isFirstOnLine(text, last.offset) ? indentAt(text, last.offset) : outer + unitOf(text)
  const member = `${eol}${inner}${JSON.stringify(name)}: ${format(value, inner, text)}`
  const closing = parent.offset + parent.length - 1
  if (!last) {
    const ending = text.slice(parent.offset, closing).includes('\n') ? '' : eol + outer
    return applyEdits(text, [{ offset: parent.offset + 1, length: 0, content: member + ending }])
  }
  const { comma, end } = readTail(text, last)
  const ending = text.slice(end, closing).includes('\n') ? '' : eol + outer
  const added = { offset: end, length: 0, content: member + (comma === undefined ? '' : ',') + ending }
  const separator = { offset: last.offset + last.length, length: 0, content: ',' }
  if (comma !== undefined) return applyEdits(text, [added])
  // The library refuses two insertions at the same place.
  if (separator.offset === end) return applyEdits(text, [{ ...added, content: `,${added.content}` }])
  return applyEdits(text, [separator, added])
}

/** Reads what follows a member: the comma, and on its line a comment. */
function readTail(
  text: string,
  { offset, length }: Node,
): { readonly comma: number | undefined; readonly end: number } {
  const after = offset + length
  const toComma = /^(?:\s|\/\*[\s\S]*?\*\/|\/\/[^\n]*\n)*,/.exec(text.slice(after))?.[0].length
  const comma = toComma === undefined ? undefined : after + toComma - 1
  const start = comma === undefined ? after : comma + 1
  const comment = /^[ \t]*(?:\/\*[^\n]*?\*\/[ \t]*)*(?:\/\/[^\r\n]*)?/.exec(text.slice(start))?.[0].trimEnd() ?? ''
  return { comma, end: start + comment.length }
}

function format(value: unknown, indent: string, text: string): string {
  return JSON.stringify(value, null, unitOf(text)).replaceAll('\n', eolOf(text) + indent)
}

/** One level of indentation. */
function unitOf(text: string): string {
  const indent = /^([ \t]+)\S/m.exec(text)?.[1] ?? '  '
  return indent.startsWith('\t') ? '\t' : indent.slice(0, 8)
}

function eolOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n'
}

function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(startOfLine(text, offset)))?.[0] ?? ''
}

function isFirstOnLine(text: string, offset: number): boolean {
  return text.slice(startOfLine(text, offset), offset).trim() === ''
}

function startOfLine(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1
}
