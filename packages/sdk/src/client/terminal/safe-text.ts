/**
 * Makes text of a server safe to print: no control sequences and no invisible characters. Keeps line breaks. Text that is
 * too long is cut and marked.
 */
export function safeText(text: string, maxLength = 4_000): string {
  const lines = clean(cut(text, maxLength)).replace(/[^\S\n]+$/gm, '')
  // Blank lines must not push the heading, which names the server, off the screen.
  return cut(lines.replace(/\n{3,}/g, '\n\n').trim(), maxLength)
}

/** Does the same for a name or a label, on one line. */
export function safeLine(text: string, maxLength = 200): string {
  return cut(clean(cut(text, maxLength)).replace(/\s+/g, ' ').trim(), maxLength)
}

/** Control and format characters, lone surrogates, private use and other characters without a visible shape. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu

function clean(text: string): string {
  return (
    text
      .replace(/\r\n?/g, '\n')
      .replaceAll('\t', ' ')
      .replace(INVISIBLE, visible)
      // Stacked combining marks would be drawn over the lines above.
      .replace(/(\p{M}{4})\p{M}+/gu, '$1')
  )
}

function visible(char: string, offset: number, text: string): string {
  if (char === '\n') return char
  if (!isJoiner(char)) return `<U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}>`
  // Many scripts use joiners, so they are removed silently, and kept inside emoji.
  return /\p{Extended_Pictographic}\ufe0f?$/u.test(text.slice(Math.max(0, offset - 3), offset)) ? char : ''
}

function isJoiner(char: string): boolean {
  return char === '\u200c' || char === '\u200d' || char === '\ufe0e' || char === '\ufe0f'
}

function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  const kept = text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, '')
  return `${kept}… (${text.length - kept.length} more characters)`
}
