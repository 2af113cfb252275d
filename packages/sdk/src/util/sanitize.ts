import { secretNameEnds } from './secret-names.ts'

/** Replaces a secret. */
const redacted = '[redacted]'

/** The end of a name whose value is secret. */
const secretName = new RegExp(`(?:${secretNameEnds})$`, 'i')

/** Escape sequences of terminals, control characters, and characters that are invisible or reorder the text around them. */
const hidden =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what has to go.
  /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\r(?!\n)|[\0-\x08\v\f\x0e-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2060-\u206f\ufeff]|\udb40[\udc00-\udc7f]/g

/** Words that follow such a name in messages about it: `password: must be longer`. */
const explanations =
  'must|should|cannot|is|was|not|too|expected|required|invalid|missing|expired|unknown|null|undefined|yes|no|bearer|basic'

/** `password=...`, `"token": "..."`, `--api-key ...`. */
const pairs = new RegExp(
  `((?:(?<!unexpected )(?:${secretNameEnds})["'\\\\]{0,4}[ \\t]{0,4}[:=](?!\\/\\/)[ \\t]{0,4}|(?<![\\w-])--[\\w-]{0,40}(?:${secretNameEnds})[ \\t]{1,4})\\\\{0,3}["']?)(?!(?:${explanations})\\b)(?:(?<=")[^"\\\\\\n]{1,400}|(?<=')[^'\\\\\\n]{1,400}|[^\\s"'\\\\,;&<>(){}[\\]]+)`,
  'gi',
)

/** Passwords in URLs, credentials of headers, tokens with a known prefix, JSON web tokens and private keys. */
const credentials =
  /(:\/\/[^\s:/?#@"'<>]{0,100}:)(?!\d*\/)[^\s?#"'<>]{1,200}(?=@)|\b((?:bearer|basic|Bearer|Basic)[ \t]{1,4})(?![A-Za-z][a-z]*\W*(?:\s|$)|\w+=")[\w.~+/=-]{6,}|(?<![\w-])(?:[spr]k[-_]|gh[pousr]_|github_pat_|glpat-|xox[a-z]-|xapp-|npm_|hf_|A[KS]IA|AIza)(?=[\w-]*\d)[\w-]{16,}|(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,20}PRIVATE KEY-----|$)/g

/**
 * Removes what a text must not carry to another party: escape sequences and control characters except tabs and line breaks,
 * characters that are invisible or reorder text, and secrets. Secrets are recognized by where they are (`password=...`,
 * `postgres://user:...@host`, `Bearer ...`) or by a known prefix (`ghp_...`), and become `[redacted]`. Takes linear time.
 *
 * @example
 * sanitizeText('connect postgres://admin:pw@db failed') // 'connect postgres://admin:[redacted]@db failed'
 */
export function sanitizeText(text: string): string {
  return text
    .replace(hidden, '')
    .replace(credentials, (_, url = '', scheme = '') => url + scheme + redacted)
    .replace(pairs, `$1${redacted}`)
}

/**
 * Copies a JSON value with every text sanitized, and with the values of members whose names say that they are secret replaced.
 * Images, audio and other binary data stay as they are. A value that is not JSON is returned as it is.
 */
export function sanitizeValue<T>(value: T, clean: (text: string) => string): T {
  if (typeof value === 'string') return clean(value) as T
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch {
    // It cannot be sent either.
  }
  if (text === undefined) return value
  return JSON.parse(text, function (this: { type?: unknown; uri?: unknown }, key: string, member: unknown) {
    const isMedia = key === 'data' && (this.type === 'image' || this.type === 'audio')
    if (isMedia || (key === 'blob' && this.uri)) return member
    const isText = typeof member === 'string'
    // Small numbers are counts.
    if (secretName.test(key) && (isText ? !/^$|^\[redacted/.test(member) : (member as number) > 9_999)) return redacted
    return isText ? clean(member) : member
  })
}
