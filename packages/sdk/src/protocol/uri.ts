/** Limits the URIs of peers, which are stored and matched. */
const maxLength = 10_000

/** Whether a text is a valid resource URI. `URL` silently removes some spaces and control characters, so they are rejected. */
export function isUri(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the regex finds control characters
  return text.length <= maxLength && !/[\u0000-\u0020\u007f]/.test(text) && URL.canParse(text)
}

/** Normalizes a URI, so that equivalent spellings are equal (RFC 3986 section 6.2.2). */
export function normalizeUri(uri: string): string {
  if (/^[a-z0-9+.-]*:[^%]*$/.test(uri)) return uri
  return uri.replace(/^[^:]*/, (scheme) => scheme.toLowerCase()).replace(/%[0-9a-f]{2}/gi, normalizeTriplet)
}

function normalizeTriplet(triplet: string): string {
  const character = String.fromCharCode(Number.parseInt(triplet.slice(1), 16))
  return /[a-z0-9._~-]/i.test(character) ? character : triplet.toUpperCase()
}

/**
 * Decodes a URI like a handler may do: without dot segments, percent-encoding and fragment. URIs of different resources can
 * have the same text (`a%2Fb`, `a/b`), so use it only to find guards.
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
