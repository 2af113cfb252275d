import { safeText } from '../../util/safe-text.ts'

/** Text of a server for a prompt. Blank lines must not push the heading, which names the server, off the screen. */
export function promptText(text: string, maxChars = 4_000): string {
  const lines = safeText(text, maxChars).replace(/[^\S\n]+$/gm, '')
  return lines.replace(/\n{3,}/g, '\n\n').trim()
}
