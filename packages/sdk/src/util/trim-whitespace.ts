/** Without spaces and tabs at the ends. HTTP knows no other blanks, and `trim` would also take those of Unicode away. */
export function trimWhitespace(text: string): string {
  if (!isBlank(text.charCodeAt(0)) && !isBlank(text.charCodeAt(text.length - 1))) return text
  return text.replace(/^[ \t]+|[ \t]+$/g, '')
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9
}
