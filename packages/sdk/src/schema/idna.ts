import { decodePunycode, encodePunycode } from './punycode.ts'

/** Returns whether a text is a host name (RFC 1123), whose internationalized labels are encoded (`xn--`). */
export function isHostname(text: string): boolean {
  if (text.length > maxName) return false
  const labels = text.split('.')
  return labels.every(isAsciiLabel) && isBidiName(labels.map(decoded))
}

/** Returns whether a text is a host name that may contain other characters than ASCII (RFC 5890 to 5893). */
export function isIdnHostname(text: string): boolean {
  // Longer names cannot become shorter by encoding.
  if (text.length > maxName) return false
  const labels = text.split(/[.\u3002\uff0e\uff61]/)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the regex finds characters outside of ASCII
  const isLabel = (label: string) => (/^[\x00-\x7f]*$/.test(label) ? isAsciiLabel(label) : isUnicodeLabel(label))
  if (!labels.every(isLabel)) return false
  const encoded = labels.map((label) => encodePunycode(label).length).reduce((sum, length) => sum + length + 1, -1)
  return encoded <= maxName && isBidiName(labels.map(decoded))
}

const maxName = 253
const maxLabel = 63

function isAsciiLabel(label: string): boolean {
  if (label.length > maxLabel || !/^[a-z\d](?:[a-z\d-]*[a-z\d])?$/i.test(label)) return false
  if (label.slice(2, 4) !== '--') return true
  const text = isEncoded(label) ? decodePunycode(label.slice(4).toLowerCase()) : undefined
  // RFC 5891 section 5.4: a label must be what its text is encoded to.
  return text !== undefined && isUnicodeLabel(text) && encodePunycode(text) === label.toLowerCase()
}

function isEncoded(label: string): boolean {
  return /^xn--/i.test(label)
}

function decoded(label: string): string {
  return isEncoded(label) ? (decodePunycode(label.slice(4).toLowerCase()) ?? '') : label
}

/** RFC 5892: letters, marks and digits in their normal form, and a few characters where their neighbors allow them. */
function isUnicodeLabel(label: string): boolean {
  if (label.length > maxLabel || encodePunycode(label).length > maxLabel) return false
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the regex finds characters outside of ASCII
  if (!/[^\x00-\x7f]/.test(label) || /^-|^..--|-$|^\p{M}/u.test(label)) return false
  const isStable = label.replace(/[\u00df\u03c2]/g, 's')
  if (isStable.normalize('NFKC').toLowerCase() !== isStable) return false
  const characters = [...label]
  return characters.every((character, index) => isAllowed(character, index, characters))
}

const disallowed = /[\u0640\u07fa\u302e\u302f\u3031-\u3035\u303b]/
const virama =
  /[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca\u0e3a\u0eba\u0f84\u1039\u103a\u1714\u1734\u17d2\u1a60\u1b44\u1baa\u1bab\u1bf2\u1bf3\u2d7f\ua806\ua8c4\ua953\ua9c0\uaaf6\uabed]/

/** RFC 5892 appendix A has the rules for neighbors. */
function isAllowed(character: string, index: number, all: readonly string[]): boolean {
  const before = all[index - 1] ?? ''
  const after = all[index + 1] ?? ''
  switch (character) {
    case '\u00b7':
      return before === 'l' && after === 'l'
    case '\u0375':
      return /\p{Script=Greek}/u.test(after)
    case '\u05f3':
    case '\u05f4':
      return /\p{Script=Hebrew}/u.test(before)
    case '\u30fb':
      return /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u.test(all.join(''))
    case '\u200c':
      return virama.test(before) || (joins.test(before) && joins.test(after))
    case '\u200d':
      return virama.test(before)
  }
  if (/[\u0660-\u0669]/.test(character)) return !/[\u06f0-\u06f9]/.test(all.join(''))
  return (
    /[-\p{Ll}\p{Lo}\p{Lm}\p{Mn}\p{Mc}\p{Nd}\u06fd\u06fe\u0f0b\u3007]/u.test(character) && !disallowed.test(character)
  )
}

/** Scripts whose letters join their neighbors. */
const joins = /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Nko}]/u

const rightToLeft =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Samaritan}\p{Script=Mandaic}]/u
const arabicDigit = /[\u0660-\u0669]/
const europeanDigit = /[\d\u06f0-\u06f9]/

/** RFC 5893 section 2, for names with a label that is written from right to left. */
function isBidiName(labels: readonly string[]): boolean {
  if (!labels.some((label) => [...label].some((character) => isRtl(character) || arabicDigit.test(character))))
    return true
  return labels.every((label) => {
    const characters = [...label]
    const last = characters.findLast((character) => !/\p{Mn}/u.test(character)) ?? ''
    if (isLtr(characters[0] ?? '')) {
      const isPlain = !characters.some((character) => isRtl(character) || arabicDigit.test(character))
      return isPlain && (isLtr(last) || europeanDigit.test(last))
    }
    if (!isRtl(characters[0] ?? '')) return false
    const mixesDigits = arabicDigit.test(label) && europeanDigit.test(label)
    return !mixesDigits && !characters.some(isLtr) && last !== '-'
  })
}

function isRtl(character: string): boolean {
  return rightToLeft.test(character) && !europeanDigit.test(character) && !arabicDigit.test(character)
}

function isLtr(character: string): boolean {
  return /\p{L}/u.test(character) && !rightToLeft.test(character)
}
