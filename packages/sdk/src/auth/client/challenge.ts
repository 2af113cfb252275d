/** One challenge of a `WWW-Authenticate` header (RFC 9110, 11.6.1). Names are in lower case. */
export interface Challenge {
  readonly scheme: string
  readonly params: Readonly<Record<string, string>>
}

const maxLength = 16_384

/**
 * Parses all challenges of a header. Commas separate challenges as well as parameters. Invalid syntax ends the list: a server
 * that is not understood gets no credentials.
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

/** Reads a header from left to right in linear time, because its content comes from the server. */
class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** Undefined at the end, and at invalid syntax. */
  next(): Part | undefined {
    this.#skip(isSeparator)
    const name = this.#take(isTokenChar)
    if (name === '') return undefined
    const isSeparated = this.#skip(isBlank)
    // A parameter has an equals sign after its name; a scheme has none.
    if (this.#text[this.#at] === '=') {
      this.#at++
      this.#skip(isBlank)
      const value = this.#text[this.#at] === '"' ? this.#takeQuoted() : this.#take(isValueChar) || undefined
      return value === undefined ? undefined : { name, value }
    }
    if (isSeparated) this.#skipToken68()
    else if (!this.#isAtEnd()) return undefined
    return { name }
  }

  /** Skips a token68, which some schemes have instead of parameters: letters, digits and slashes, then equals signs. */
  #skipToken68(): void {
    const start = this.#at
    const isFound = this.#skip(isToken68Char)
    this.#skip(isEqualsSign)
    this.#skip(isBlank)
    if (!isFound || !this.#isAtEnd()) this.#at = start
  }

  /** True at the end of a challenge or parameter. */
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

  /** True if anything was skipped. */
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

/** The DPoP challenge, else the Bearer challenge. */
export function bearerChallenge(header: string | undefined): Challenge | undefined {
  const challenges = parseChallenges(header)
  const bearer = challenges.find(({ scheme }) => scheme === 'bearer')
  const dpop = challenges.find(({ scheme }) => scheme === 'dpop')
  // Servers may put parameters into only one of the two.
  return dpop ? { scheme: 'dpop', params: { ...bearer?.params, ...dpop.params } } : bearer
}

export function scopesIn(text: string | undefined): string[] {
  return text?.split(' ').filter((scope) => scope !== '') ?? []
}
