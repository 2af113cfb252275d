import { safeJson, safeText } from 'tenon/internal'
import { wrap } from '../columns.ts'

/**
 * Writes a JSON value as a JavaScript expression on one or more lines. Strings are escaped, also those with line separators, bidi
 * marks and other characters that would show code in another way than it runs.
 */
export function toLiteral(value: unknown): string {
  // In an object literal `"__proto__": x` sets the prototype; in brackets it is an ordinary member.
  return safeJson(value).replace(/^(\s*)"__proto__":/gm, '$1["__proto__"]:')
}

/** Writes a string as a literal. */
export function toStringLiteral(text: string): string {
  return safeJson(text)
}

/** Writes the name of a property in a type. */
export function toKey(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) && name !== '__proto__' ? name : toStringLiteral(name)
}

/** A doc comment with text of a server, which cannot end the comment. No lines if there is no text. */
export function docComment(texts: readonly (string | undefined)[], indent = ''): string[] {
  const text = texts.filter((part) => part !== undefined && part.trim() !== '').join('\n\n')
  if (text === '') return []
  const lines = wrap(safeText(text.trim(), maxChars), maxColumns)
    .map((line) =>
      line
        .trimEnd()
        .replaceAll('*/', '*\\/')
        .replace(/^(\s*)@/, '$1\\@'),
    )
    .map((line) => (line === '' ? `${indent} *` : `${indent} * ${line}`))
  if (lines.length === 1) return [`${indent}/** ${lines[0]?.slice(indent.length + 3)} */`]
  return [`${indent}/**`, ...lines, `${indent} */`]
}

const maxChars = 4_000
const maxColumns = 100

/** Text of a server for a line comment. */
export function toLineComment(text: string): string {
  return safeText(text.replace(/\s+/g, ' '), 200)
}
