/** Elements of static drawings. All others are rejected: scripts, animations, and HTML with any prefix. */
const elements = [
  ...['svg', 'g', 'defs', 'symbol', 'use', 'a', 'switch', 'title', 'desc', 'metadata', 'style', 'view'],
  ...['path', 'rect', 'circle', 'ellipse', 'line', 'polyline', 'polygon', 'text', 'tspan', 'textPath'],
  ...['linearGradient', 'radialGradient', 'stop', 'clipPath', 'mask', 'pattern', 'marker', 'filter'],
  // Filter primitives.
  'fe(?!Image)[A-Z][A-Za-z]+',
].join('|')

/** Forbidden content. Files with it are rejected, not sanitized, because attackers find the gaps of a sanitizer. */
const forbidden: readonly [string, RegExp][] = [
  ['a document type or entities', /<!(?!--)(?!\[CDATA\[)/],
  ['character references or entities', /&(?!(?:amp|lt|gt|quot|apos);)/],
  ['processing instructions', /<\?(?!xml\s)/i],
  ['an encoding other than UTF-8', /<\?xml[^<>]*encoding\s*=\s*["'](?!utf-8["'])/i],
  ['elements that do not belong in a static drawing', new RegExp(`<(?![!?]|/?(?:${elements})[\\s/>])`)],
  ['foreign namespaces', /xmlns(?::(?!(?:xlink|svg)\s*=)|\s*=(?!\s*(["'])http:\/\/www\.w3\.org\/2000\/svg\1))/i],
  // Markup inside could hide words from the patterns below.
  ['markup in a style', /<style(?:\s[^<>]*)?>(?!(?:\s*<!\[CDATA\[(?:(?!\]\]>)[^<])*\]\]>\s*|[^<]*)<\/style\s*>)/],
  ['event handlers', /[\s"'/](?:[\w.-]+:)?on[a-z]+\s*=/i],
  ['links that report clicks', /[\s"'/]ping\s*=/i],
  ['references to other documents', /(?:href|src|base)\s*=\s*(?!["']\s*#)/i],
  ['external styles', /@import|image-set|expression\s*\(|-moz-binding|\\|url\s*\(\s*(?!["']?\s*#)/i],
  ['script URLs', /(?:java|vb)script\s*:/i],
]

/** More than an icon needs. Copies are limited, because nested copies grow exponentially. */
const maxElements = 5_000
const maxCopies = 20

/** Why an SVG is rejected; undefined if it is safe. */
export function svgProblem(bytes: Uint8Array): string | undefined {
  const text = decode(bytes)
  if (text === undefined) return 'the SVG is not UTF-8'
  if (text.includes('\0')) return 'the SVG contains a NUL'
  const found = forbidden.find(([, pattern]) => pattern.test(text))
  if (found) return `the SVG has ${found[0]}`
  if (count(text, '<') > maxElements * 2) return `the SVG has more than ${maxElements} elements`
  return count(text, '<use') > maxCopies ? `the SVG copies elements more than ${maxCopies} times` : undefined
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function count(text: string, part: string): number {
  let found = 0
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) found++
  return found
}
