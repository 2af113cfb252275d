/** Longer than any URI that is meant; what a peer makes us keep or match must not grow at will. */
const maxLength = 10_000

/** Whether a resource can be named so. Spaces and control characters are no part of a URI, and URL would drop some. */
export function isUri(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.length <= maxLength && !/[\u0000-\u0020\u007f]/.test(text) && URL.canParse(text)
}

/** The form under which a URI is looked up: the same for all spellings that RFC 3986 section 6.2.2 calls equivalent. */
export function normalizeUri(uri: string): string {
  if (/^[a-z0-9+.-]*:[^%]*$/.test(uri)) return uri
  return uri.replace(/^[^:]*/, (scheme) => scheme.toLowerCase()).replace(/%[0-9a-f]{2}/gi, normalizeTriplet)
}

function normalizeTriplet(triplet: string): string {
  const character = String.fromCharCode(Number.parseInt(triplet.slice(1), 16))
  return /[a-z0-9._~-]/i.test(character) ? character : triplet.toUpperCase()
}

/**
 * What a handler may read from a URI once it is parsed and decoded: without dot segments, percent-encoding and fragment. URIs
 * of different resources can have the same text (`a%2Fb`, `a/b`), so use it only to find guards.
 */
export function decodedText(uri: string): string {
  if (!URL.canParse(uri)) return uri
  const href = new URL(uri).href.replace(/\??(#.*)?$/s, '')
  try {
    return decodeURIComponent(href)
  } catch {
    return href
  }
}
