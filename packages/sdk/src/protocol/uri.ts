/** Longer than any URI that is meant; what a peer makes us keep or match must not grow at will. */
const maxLength = 10_000

/** Whether a resource can be named so. Spaces and control characters are no part of a URI, and URL would drop some. */
export function isUri(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.length <= maxLength && !/[\u0000-\u0020\u007f]/.test(text) && URL.canParse(text)
}
