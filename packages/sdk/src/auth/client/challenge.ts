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
  const text = (header ?? '').slice(0, maxLength)
  // A scheme stands alone or before its first parameter; a parameter has an equals sign right after its name.
  const part =
    /\s*,?\s*(?:([!#$%&'*+.^_`|~\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))|([!#$%&'*+.^_`|~\w-]+)(?=\s|,|$)(?:[ \t]+[\w.~+/-]+=*(?=\s*(?:,|$)))?)/y
  for (let found = part.exec(text); found; found = part.exec(text)) {
    const [, name, quoted, token, scheme] = found
    if (scheme !== undefined) challenges.push({ scheme: scheme.toLowerCase(), params: Object.create(null) })
    else if (challenges.length === 0) return []
    else challenges.at(-1)!.params[name!.toLowerCase()] = quoted?.replace(/\\(.)/g, '$1') ?? token!
  }
  return challenges
}

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
