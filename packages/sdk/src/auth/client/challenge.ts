/** One challenge of a `WWW-Authenticate` header (RFC 9110, 11.6.1). Names are in lower case. */
export interface Challenge {
  readonly scheme: string
  readonly params: Readonly<Record<string, string>>
}

const maxLength = 16_384

/**
 * All challenges of a header, which may hold several with commas between them and between their parameters. What cannot be
 * read ends the list: a server that is not understood gets no credentials for what it might have meant.
 */
export function parseChallenges(header: string | undefined): Challenge[] {
  const challenges: { scheme: string; params: Record<string, string> }[] = []
  const reader = new Reader((header ?? '').slice(0, maxLength))
  for (let part = reader.next(); part; part = reader.next()) {
    const { name, value } = part
    if (value === undefined) challenges.push({ scheme: name.toLowerCase(), params: Object.create(null) })
    else if (challenges.length === 0) return []
    else challenges.at(-1)!.params[name.toLowerCase()] = value
  }
  return challenges
}

/** A scheme, or a parameter with its value. */
interface Part {
  readonly name: string
  readonly value?: string | undefined
}

/** Reads a header from left to right, looking at no character more than a few times: a server chooses what it contains. */
class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** Undefined at the end, and at what cannot be read. */
  next(): Part | undefined {
    this.#skip(isSeparator)
    const name = this.#take(isTokenChar)
    if (name === '') return undefined
    const isApart = this.#skip(isBlank)
    // A parameter has an equals sign after its name; a scheme stands alone or before its first parameter.
    if (this.#text[this.#at] === '=') {
      this.#at++
      this.#skip(isBlank)
      const value = this.#text[this.#at] === '"' ? this.#takeQuoted() : this.#take(isValueChar) || undefined
      return value === undefined ? undefined : { name, value }
    }
    if (isApart) this.#skipToken68()
    else if (!this.#isAtEnd()) return undefined
    return { name }
  }

  /** What some schemes have in place of parameters: letters, digits and slashes, then any number of equals signs. */
  #skipToken68(): void {
    const start = this.#at
    const isFound = this.#skip(isToken68Char)
    this.#skip(isEqualsSign)
    this.#skip(isBlank)
    if (!isFound || !this.#isAtEnd()) this.#at = start
  }

  /** Whether nothing follows that belongs to what was read. */
  #isAtEnd(): boolean {
    return this.#at === this.#text.length || this.#text[this.#at] === ','
  }

  #takeQuoted(): string | undefined {
    const pieces: string[] = []
    let start = ++this.#at
    for (; this.#at < this.#text.length; this.#at++) {
      const char = this.#text[this.#at]
      if (char !== '"' && char !== '\\') continue
      pieces.push(this.#text.slice(start, this.#at++))
      if (char === '"') return pieces.join('')
      start = this.#at
    }
    return undefined
  }

  #take(fits: (char: string) => boolean): string {
    const start = this.#at
    this.#skip(fits)
    return this.#text.slice(start, this.#at)
  }

  /** Whether there was anything to skip. */
  #skip(fits: (char: string) => boolean): boolean {
    const start = this.#at
    while (this.#at < this.#text.length && fits(this.#text[this.#at]!)) this.#at++
    return this.#at > start
  }
}

const isBlank = (char: string) => char === ' ' || char === '\t'
const isSeparator = (char: string) => char === ',' || isBlank(char)
const isEqualsSign = (char: string) => char === '='
const isTokenChar = (char: string) => /[!#$%&'*+.^_`|~\w-]/.test(char)
const isToken68Char = (char: string) => /[\w.~+/-]/.test(char)
const isValueChar = (char: string) => !isSeparator(char) && char !== '"'

/** The challenge that we can answer, the safer scheme first. */
export function bearerChallenge(header: string | undefined): Challenge | undefined {
  const challenges = parseChallenges(header)
  const bearer = challenges.find(({ scheme }) => scheme === 'bearer')
  const dpop = challenges.find(({ scheme }) => scheme === 'dpop')
  // What one of them leaves out, the other may say.
  return dpop ? { scheme: 'dpop', params: { ...bearer?.params, ...dpop.params } } : bearer
}

export function scopesIn(text: string | undefined): string[] {
  return text?.split(' ').filter((scope) => scope !== '') ?? []
}
