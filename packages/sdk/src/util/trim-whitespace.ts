/** Removes spaces and tabs at both ends. HTTP has no other whitespace, and `trim` would also remove that of Unicode. */
export function trimWhitespace(text: string): string {
  if (!isBlank(text.charCodeAt(0)) && !isBlank(text.charCodeAt(text.length - 1))) return text
  return text.replace(/^[ \t]+|[ \t]+$/g, '')
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9
}
