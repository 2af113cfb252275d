/**
 * Whether a member, header, parameter or variable with this name holds a secret. Spelling does not matter: `api_key`, `apiKey` and
 * `X-API-Key` are the same name.
 */
export function isSecretName(name: string): boolean {
  const plain = name
    .slice(0, 200)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
  return names.has(plain) || (plain.endsWith('token') && !cursors.test(plain)) || parts.test(plain)
}

const names: ReadonlySet<string> = new Set(['auth', 'pwd', 'pass', 'jwt', 'otp', 'sessionid', 'mcpsessionid', 'dpop'])

/** Positions in a list and the like. */
const cursors = /(?:next|page|cursor|sync|progress)token$/

/** `tokens` and `tokenCount` are numbers of tokens of a model, so they are not in here. */
const parts =
  /authorization|cookie|passw|passphrase|secret|apikey|accesskey|privatekey|signingkey|encryptionkey|credential|bearer/

/**
 * Ends of names whose values are secret in running text, as the source of an expression: `password=...`, `--api-key ...`. Fewer than
 * `isSecretName` knows, because the words of a text are no names.
 */
export const secretNameEnds =
  'passw(?:or)?d|pwd|passphrase|secret|(?<!(?:next|page|cursor|sync|progress)[_-]?)token|(?:api|access|private|account)[_-]?key|cookie'
