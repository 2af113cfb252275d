import { charClass, findRuns } from './encoded-text.ts'

/** Finds numbers of payment cards: by issuer, length and check digit, and because they are in groups or next to a word for them. */
export function findCardNumbers(text: string, limit: number): { readonly start: number; readonly end: number }[] {
  const found: { start: number; end: number }[] = []
  findRuns(text, isCardChar, minCardChars, (from, to) => {
    for (const { 0: number, index } of text.slice(from, to).matchAll(cardNumber)) {
      const start = from + index
      const end = start + number.length
      if (found.length >= limit) return
      if (isCardNumber(number.replace(/\D/g, '')) && (/\D/.test(number) || isNearWord(text, start, end)))
        found.push({ start, end })
    }
  })
  return found
}

const minCardChars = 14
const isCardChar = charClass(/[\d -]/)
const cardNumber = /(?<!\d[ -]?)(?:\d{4}([ -])\d{4}\1\d{4}\1\d{4}|\d{4}([ -])\d{6}\2\d{4,5}|\d{14,16})(?!\d)/g

/** Identifiers have as many digits, and one in ten has a right check digit. */
function isNearWord(text: string, start: number, end: number): boolean {
  const near = `${text.slice(Math.max(0, start - 40), start)} ${text.slice(end, end + 40)}`
  return /(?:^|[^a-z])(?:card|cards|card_?number|pan|cvv|cvc|visa|mastercard|amex|credit|debit|exp)(?![a-z])/i.test(
    near,
  )
}

/** Visa, Mastercard, American Express, Diners Club, Discover and JCB. */
const issuers =
  /^(?:4\d{15}|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|6(?:011|4[4-9]\d|5\d\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12})$/

function isCardNumber(digits: string): boolean {
  // Numbers for tests repeat: 4242 4242 4242 4242, 4111 1111 1111 1111.
  if (!issuers.test(digits) || /(\d)\1{4}|(\d{4})\2/.test(digits)) return false
  let sum = 0
  for (let index = 0; index < digits.length; index++) {
    const digit = Number(digits[digits.length - 1 - index])
    const value = index % 2 === 0 ? digit : 2 * digit
    sum += value > 9 ? value - 9 : value
  }
  return sum % 10 === 0
}

/**
 * Whether a text is the seed phrase of a wallet: as many words as BIP-39 allows, of the length that its words have, without the
 * words that hold sentences together, which its list does not contain.
 */
export function isSeedPhrase(text: string): boolean {
  const words = text
    .trim()
    .toLowerCase()
    .split(/[\s,]+/)
  if (![12, 15, 18, 21, 24].includes(words.length) || new Set(words).size < words.length / 2) return false
  return words.every((word) => /^[a-z]{3,8}$/.test(word) && !sentenceWords.has(word))
}

const sentenceWords: ReadonlySet<string> = new Set(
  'the and for with from are was were not but has its your our their which than these those been being word words phrase seed'.split(
    ' ',
  ),
)
