/** Without spaces and tabs at the ends. HTTP knows no other blanks, and `trim` would also take those of Unicode away. */
export function trimBlanks(text: string): string {
  return text.replace(/^[ \t]+|[ \t]+$/g, '')
}
