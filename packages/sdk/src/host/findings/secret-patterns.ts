import { isSeedPhrase } from './payment-data.ts'

/** A kind of secret that a text can contain. */
export interface SecretPattern {
  /** What it is, for messages. */
  readonly kind: string
  /** Characters that every match starts with, in lower case. At least four, so some are written once per next character. */
  readonly anchors: readonly string[]
  /** Matched at the anchor. Bounded, and no two parts can match the same character, so it takes linear time. */
  readonly pattern: RegExp
  /** Checks what a pattern cannot, and may narrow the secret. Returns the range of the secret in the match. */
  readonly check?: ((match: RegExpExecArray) => readonly [start: number, end: number] | undefined) | undefined
}

const lower = [...'abcdefghijklmnopqrstuvwxyz']
const alphanumeric = [...lower, ...'0123456789']

/** Nothing that belongs to the same word may precede a token. */
export const begin = '(?<![A-Za-z0-9_-])'
const finish = '(?![A-Za-z0-9_-])'

function token(kind: string, anchors: readonly string[], body: string): SecretPattern {
  const check = ({ 0: text }: RegExpExecArray) => (isExample(text) ? undefined : ([0, text.length] as const))
  return { kind, anchors, pattern: new RegExp(begin + body + finish, 'y'), check }
}

/** Tokens in documentation repeat characters, or follow the alphabet. */
function isExample(text: string): boolean {
  return new Set(text.slice(6)).size <= 7 || /abcdefgh|x{6}|123456789/i.test(text)
}

export const secretPatterns: readonly SecretPattern[] = [
  {
    kind: 'AWS access key id',
    anchors: ['akia', 'asia', 'abia', 'acca'],
    pattern: new RegExp(`${begin}(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}${finish}`, 'y'),
    check: (match) => (isDocumentationKey(match[0]) ? undefined : [0, match[0].length]),
  },
  token('GitHub token', ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], 'gh[pousr]_[A-Za-z0-9]{36,255}'),
  token('GitHub token', ['github_pat_'], 'github_pat_[A-Za-z0-9_]{50,255}'),
  token(
    'GitLab token',
    ['glpat-', 'gldt-', 'glrt-', 'glcbt-', 'glptt-', 'glft-', 'glsoat-', 'gloas-'],
    'gl(?:pat|dt|rt|cbt|ptt|ft|soat|oas)-[\\w.-]{20,300}',
  ),
  token(
    'Slack token',
    ['xoxb-', 'xoxp-', 'xoxa-', 'xoxr-', 'xoxs-', 'xoxe-', 'xoxe.', 'xapp-'],
    '(?:xox[bpares][-.]|xapp-)[A-Za-z0-9.-]{20,250}',
  ),
  {
    kind: 'Slack webhook',
    anchors: ['hooks.slack.com/services/'],
    pattern: /hooks\.slack\.com\/services\/T[A-Z0-9]{6,14}\/B[A-Z0-9]{6,14}\/[A-Za-z0-9]{16,40}/y,
  },
  token(
    'Stripe key',
    ['sk_live_', 'rk_live_', 'sk_test_', 'rk_test_', 'whsec_'],
    '(?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9]{20,250}',
  ),
  token('Anthropic key', ['sk-ant-'], 'sk-ant-[\\w-]{20,250}'),
  token('OpenAI key', ['sk-proj-', 'sk-svcacct-', 'sk-admin-'], 'sk-(?:proj|svcacct|admin)-[\\w-]{20,250}'),
  token(
    'API key',
    alphanumeric.map((next) => `sk-${next}`),
    'sk-(?:or-v1-)?(?=[A-Za-z]{0,40}\\d)[A-Za-z0-9]{32,80}',
  ),
  token('npm token', ['npm_'], 'npm_[A-Za-z0-9]{36}'),
  token('PyPI token', ['pypi-ageichlwas5vcmc', 'pypi-agenZXN0'.toLowerCase()], 'pypi-AgE[\\w-]{50,500}'),
  token('Google API key', ['aiza'], 'AIza[\\w-]{35}'),
  token('Google OAuth token', ['ya29.'], 'ya29\\.[\\w-]{30,500}'),
  token('Google client secret', ['gocspx-'], 'GOCSPX-[\\w-]{20,60}'),
  token(
    'Hugging Face token',
    alphanumeric.map((next) => `hf_${next}`),
    'hf_[A-Za-z0-9]{30,60}',
  ),
  token('DigitalOcean token', ['dop_v1_', 'doo_v1_', 'dor_v1_'], 'do[opr]_v1_[a-f0-9]{64}'),
  token(
    'SendGrid key',
    alphanumeric.map((next) => `sg.${next}`),
    'SG\\.[\\w-]{16,32}\\.[\\w-]{30,64}',
  ),
  token('Shopify token', ['shpat_', 'shpss_', 'shpca_', 'shppa_'], 'shp(?:at|ss|ca|pa)_[a-fA-F0-9]{32}'),
  token('Linear key', ['lin_api_'], 'lin_api_[A-Za-z0-9]{32,64}'),
  token('Notion token', ['ntn_'], 'ntn_[A-Za-z0-9]{40,64}'),
  token('Figma token', ['figd_'], 'figd_[\\w-]{30,64}'),
  token('Supabase token', ['sbp_', 'sb_secret_'], '(?:sbp_[a-f0-9]{40}|sb_secret_[\\w-]{20,64})'),
  token('Docker token', ['dckr_pat_'], 'dckr_pat_[\\w-]{20,64}'),
  token('Atlassian token', ['atatt3'], 'ATATT3[\\w=-]{50,300}'),
  token('Sentry token', ['sntrys_', 'sntryu_'], 'sntry[su]_[\\w=+/-]{40,400}'),
  token('Databricks token', ['dapi'], 'dapi[a-f0-9]{32}(?:-\\d)?'),
  token('age key', ['age-secret-key-1'], 'AGE-SECRET-KEY-1[A-Z0-9]{50,70}'),
  {
    kind: 'Telegram token',
    anchors: [...'abcdefghijklmnopqrstuvwxyz0123456789_-'].map((next) => `:aa${next}`),
    pattern: /(?<=(?<![0-9])[0-9]{8,10}):(AA[\w-]{32,35})(?![\w-])/y,
    check: (match) => (isExample(match[1]!) ? undefined : lastGroup(match, 1)),
  },
  {
    // The first part is the id of the bot, which consists of digits, in base64.
    kind: 'Discord token',
    anchors: [...new Set(Array.from({ length: 900 }, (_, id) => btoa(String(100 + id)).toLowerCase()))],
    pattern: new RegExp(`${begin}[MNO][DTjz][\\w-]{21,26}\\.[\\w-]{6}\\.[\\w-]{27,38}(?![\\w-])`, 'y'),
    check: ({ 0: text }) => (isExample(text) ? undefined : [0, text.length]),
  },
  {
    kind: 'Discord webhook',
    anchors: ['discord.com/api/', 'discordapp.com/api/'],
    pattern: /discord(?:app)?\.com\/api\/(?:v\d{1,2}\/)?webhooks\/\d{15,21}\/([\w-]{50,90})/iy,
    check: (match) => lastGroup(match, 1),
  },
  token(
    'Doppler token',
    ['dp.pt.', 'dp.st.', 'dp.ct.', 'dp.sa.', 'dp.scim.', 'dp.audit.'],
    'dp\\.(?:pt|ct|sa|scim|audit|st(?:\\.[\\w-]{1,40})?)\\.[A-Za-z0-9]{40,44}',
  ),
  {
    // Programs read this file for the password of a host, whatever the password looks like.
    kind: 'password in a netrc file',
    anchors: ['machine ', 'machine\t', 'machine\n'],
    pattern:
      /(?<![\w-])machine\s{1,8}[\w.:-]{1,253}\s{1,8}login\s{1,8}\S{1,100}\s{1,8}password\s{1,8}([^\s"'`<>]{4,400})/y,
    check: (match) => (isPlaceholder(match[1]!) ? undefined : lastGroup(match, 1)),
  },
  {
    // In `/etc/shadow` and htpasswd files. Who has it can try passwords as fast as their machines can.
    kind: 'password hash',
    anchors: [':$1$', ':$5$', ':$6$', ':$y$', ':$2a$', ':$2b$', ':$2y$', ':$apr1$'],
    pattern: /(?<=[\w.-]):(\$(?:[156y]|2[aby]|apr1)\$[\w./$=,]{24,200})/y,
    check: (match) => (isExample(match[1]!) ? undefined : lastGroup(match, 1)),
  },
  {
    kind: 'password of a container registry',
    anchors: ['"auth"'],
    pattern: /"auth"\s{0,8}:\s{0,8}"([A-Za-z0-9+/]{8,2000}={0,2})(?=")/y,
    check: (match) => (isUserAndPassword(match[1]!) ? lastGroup(match, 1) : undefined),
  },
  {
    kind: 'seed phrase',
    anchors: [
      'mnemonic',
      'seed phrase',
      'seed_phrase',
      'seedphrase',
      'seed words',
      'recovery phrase',
      'recovery_phrase',
      'recovery words',
    ],
    pattern:
      /(?:mnemonic|(?:seed|recovery)[ _-]?(?:phrase|words))["'\\]{0,4}[ \t]{0,4}(?:[:=]|is\b)\s{0,4}["'\\]{0,4}((?:[a-z]{3,8}[ \t,]{1,3}){11,23}[a-z]{3,8})(?![ \t,]{0,3}[a-z])/iy,
    check: (match) => (isSeedPhrase(match[1]!) ? lastGroup(match, 1) : undefined),
  },
  {
    kind: 'JSON web token',
    anchors: alphanumeric.map((next) => `eyj${next}`),
    pattern: new RegExp(`${begin}eyJ[\\w-]{10,2000}\\.[\\w-]{10,8000}\\.[\\w-]{10,2000}`, 'y'),
    check: (match) => (isTokenHeader(match[0]) ? [0, match[0].length] : undefined),
  },
  {
    kind: 'private key',
    anchors: ['-----begin '],
    pattern:
      /-----BEGIN (?:[A-Z0-9]{1,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----(?:[\sA-Za-z0-9+/=:,.]|-(?!-)|\\[nr]){40,16000}(?:-----END [A-Z0-9 ]{1,40}-----)?/y,
    check: ({ 0: text }) => (/[A-Za-z0-9+/]{30}/.test(text) ? [0, text.length] : undefined),
  },
  {
    kind: 'password in a URL',
    anchors: lower.map((letter) => `${letter}://`),
    pattern: /[a-z]:\/\/([^\s:/?#@"'<>[\]]{0,100}):([^\s/?#@"'<>]{3,200})@/iy,
    check: passwordOfUrl,
  },
  {
    kind: 'bearer token',
    anchors: ['bearer'],
    pattern: /(?<![A-Za-z0-9_])bearer[ \t]{1,4}([\w.~+/=-]{20,2000})/iy,
    check: (match) => (isRandom(match[1]!, 20) ? [match[0].length - match[1]!.length, match[0].length] : undefined),
  },
  {
    kind: 'password',
    anchors: ['password', 'passwd', 'passphrase', 'pwd='],
    pattern:
      /(?:password|passwd|passphrase|pwd)["'`\\]{0,4}[ \t]{0,4}[:=][ \t]{0,4}["'`\\]{0,4}([^\s"'`\\,;&<>(){}[\]]{8,200})/iy,
    check: (match) => randomValue(match, 8),
  },
  {
    // The token in the address of a status badge can do nothing but show it, to every reader of the page.
    kind: 'key or token',
    anchors: [
      'secret',
      'api_key',
      'apikey',
      'api-key',
      'token',
      'access_key',
      'accesskey',
      'private_key',
      'auth_key',
      'account_key',
      'accountkey',
      'client_key',
    ],
    pattern:
      /(?<!\.svg\?style=[\w-]{1,20}&(?:circle-)?|badge\.svg\?|\.svg\?circle-|next[_-]?|page[_-]?|continuation[_-]?|sync[_-]?|cursor[_-]?|csrf[_-]?|xsrf[_-]?|progress[_-]?|device[_-]?)(?:secret|api[_-]?key|token|access_?key|private_key|auth_key|account_?key|client_key)(?:[_-](?:access_key|key|id|value))?["'`\\]{0,4}[ \t]{0,4}[:=][ \t]{0,4}["'`\\]{0,4}([^\s"'`\\,;&<>(){}[\]]{16,200})/iy,
    check: (match) => randomValue(match, 16),
  },
]

/** What the name of a member says about its value: it is a secret, or it is one if it looks random, or in Basic authentication, or a seed phrase. */
export type SecretName = 'secret' | 'key' | 'basic' | 'phrase' | undefined

/** Reads the name of a member such as `password` or `apiKey`. */
export function readSecretName(name: string): SecretName {
  if (/^(?:password|passwd|passphrase|pwd|secret|client_?secret|private_?key)$/i.test(name)) return 'secret'
  if (name === 'auth') return 'basic'
  if (/^(?:mnemonic|(?:seed|recovery)_?(?:phrase|words))$/i.test(name)) return 'phrase'
  const isKey = /(?:secret|api_?key|access_?key|(?:^|auth|access|refresh|bearer|id)_?token|credential)s?$/i.test(name)
  return isKey ? 'key' : undefined
}

/** Whether a value is a secret, given the name of its member. */
export function isSecretValue(name: SecretName, value: string): boolean {
  if (name === 'phrase') return isSeedPhrase(value)
  if (name === 'basic') return value.length >= 8 && isUserAndPassword(value)
  return name === 'secret' ? !isPlaceholder(value) : name === 'key' && isRandom(value, 16)
}

/** The range of a group that the match ends with. */
export function lastGroup(match: RegExpExecArray, group: number): readonly [start: number, end: number] {
  return [match[0].length - match[group]!.length, match[0].length]
}

/** Whether a text is a user name and a password in base64. */
export function isUserAndPassword(encoded: string): boolean {
  try {
    return /^[ -9;-~]{0,200}:[ -~]/.test(atob(encoded.replaceAll('-', '+').replaceAll('_', '/')))
  } catch {
    return false
  }
}

function randomValue(match: RegExpExecArray, minChars: number): [number, number] | undefined {
  const value = match[1]!
  return isRandom(value, minChars) ? [match[0].length - value.length, match[0].length] : undefined
}

function passwordOfUrl(match: RegExpExecArray): [number, number] | undefined {
  const [whole, user, password] = match as unknown as [string, string, string]
  if (password.toLowerCase() === user.toLowerCase() || isPlaceholder(password)) return undefined
  return [whole.length - 1 - password.length, whole.length - 1]
}

function isTokenHeader(jwt: string): boolean {
  try {
    const header = atob(jwt.slice(0, jwt.indexOf('.')).replaceAll('-', '+').replaceAll('_', '/'))
    return /"(?:alg|typ)"\s*:/.test(header)
  } catch {
    return false
  }
}

const placeholders =
  /^(?:pass(?:word|wd)?\d{0,3}|pwd|secret|token|changeme|example|user(?:name)?|your.*|my.*|test.*|dummy.*|placeholder.*|redacted.*|x+|\*+|\.+|-+|<.*|\$.*|%.*|\{.*|\[.*|none|null|undefined|true|false|string|required|optional)$/i

function isPlaceholder(value: string): boolean {
  return placeholders.test(value.slice(0, 200)) || isDocumentationKey(value)
}

/** The keys of the AWS documentation, which say so at their end: on their own, in an assignment and as a member. */
function isDocumentationKey(value: string): boolean {
  return /EXAMPLE(?:KEY)?$/.test(value)
}

/** Keys that their vendors publish for everyone: of the MinIO playground, the Azure emulators, and the documentation of Twitter and Stripe. */
const publishedKeys = new Set([
  'Q3AM3UQ867SPQQA43P2F',
  'zuf+tfteSlswRu7BJ86wekitnifILbZam1KYY3TG',
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==',
  'C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==',
  'kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw',
  'LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE',
  'sk_test_4eC39HqLyjWDarjtT1zdp7dc',
])

/**
 * Whether a secret is obviously made up: it follows the alphabet or the keyboard, or consists of words such as `secret`, also
 * with digits in place of letters. Documentation is full of these. They raise no finding, but are redacted like all others,
 * because people choose such passwords, too.
 */
export function isMadeUp(value: string): boolean {
  const text = value.slice(0, 200)
  // Three dots stand for the rest.
  if (/abcdef|12345|qwerty|0{6}|(.)\1{5}|…|\.{3}/i.test(text) || isMadeUpBase32(text)) return true
  if (publishedKeys.has(text) || isMadeUpBase64(text)) return true
  return consistsOfWords(text) || consistsOfWords(withLetters(text.replace(/[\d!]{1,4}$/, '')))
}

const madeUpWords =
  /some|not|my|your|the|our|this|is|very|super|sooper|top|database|db|admin|root|default|new|old|secure|strong|safe|good|long|real|username|user|personal|access|server|service|account|installation|base|encoded|for|app|api|client|refresh|oauth|auth|bearer|password|passphrase|passwd|pass|pwd|pw|secret|token|key|value|string|here|code|id|foo|bar|baz|ed|hunter|demo|sample|example|test|fake|dummy|mock|change|me|it|please|insert|enter|put|replace|with|live|hello|world|letmein|welcome|ghp|gho|ghu|ghs|ghr|sk|pk|[\d_.!@#$*-]/gi

/** Keys for one-time passwords in documentation are base32 of such texts: of `Hello!` and of digits in RFC 6238. */
function isMadeUpBase32(value: string): boolean {
  if (!/^[A-Z2-7]{16,}$/.test(value)) return false
  const bits = [...value.slice(0, 16)].map((digit) => base32Digits.indexOf(digit).toString(2).padStart(5, '0')).join('')
  const start = (bits.match(/.{8}/g) ?? []).slice(0, 6).map((byte) => String.fromCharCode(Number.parseInt(byte, 2)))
  return /12345/.test(start.join('')) || consistsOfWords(start.join(''))
}

/** Examples of encoded passwords say so once they are decoded: `not my real password`. */
function isMadeUpBase64(value: string): boolean {
  if (!/^[A-Za-z0-9+/]{8,}={0,2}$/.test(value) || value.length % 4 > 0) return false
  const decoded = atob(value)
  return /^[a-z]+(?:[ :_-][a-z]+)+$/i.test(decoded) && consistsOfWords(decoded.replace(/[ :]/g, ''))
}

const base32Digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Words are removed one after the other, because an expression for a text of words could take exponential time. */
function consistsOfWords(text: string): boolean {
  return text.replace(madeUpWords, '') === ''
}

/** Letters in place of the digits and signs that imitate them. */
function withLetters(text: string): string {
  return text.replace(/[013457@$]/g, (sign) => 'oieast'['013457'.indexOf(sign)] ?? (sign === '@' ? 'a' : 's'))
}

/** Code, paths, numbers, words and identifiers are not random; digits and letters without an order are. */
function isRandom(value: string, minChars: number): boolean {
  if (value.length < minChars || isPlaceholder(value) || isIdentifier(value)) return false
  // People end a password with the year; a generated key has digits in other places, too.
  if (minChars >= 16 && /^[a-z]+\d{3}$/i.test(value)) return false
  const hasDigit = /\d/.test(value)
  const hasSign = /[^A-Za-z0-9_.-]/.test(value)
  const hasBothCases = /[a-z]/.test(value) && /[A-Z]/.test(value)
  const isMixed = hasDigit ? /[A-Za-z]/.test(value) : hasSign && hasBothCases
  return isMixed && entropyOf(value) >= (minChars < 16 ? 2.75 : 3.3)
}

function isIdentifier(value: string): boolean {
  return (
    /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(value) ||
    /^(?:https?|file):\/\//i.test(value) ||
    /^[a-z]+(?:[._-][a-z]+)*\d{0,2}$/i.test(value) ||
    // The name of a variable: `SALESFORCE_OAUTH2_CLIENT_SECRET`.
    /^[A-Z]+(?:\d{1,3}[A-Z]*)?(?:_[A-Z]+(?:\d{1,3}[A-Z]*)?)+$/.test(value) ||
    /^process\.env|^(?:os\.)?environ/.test(value) ||
    /^[\d.:TZ+-]+$/.test(value)
  )
}

const maxEntropyChars = 64

/** Bits per character of the beginning of a text. */
function entropyOf(text: string): number {
  const counts = new Uint8Array(256)
  const total = Math.min(text.length, maxEntropyChars)
  for (let index = 0; index < total; index++) counts[text.charCodeAt(index) & 255]!++
  let bits = 0
  for (const count of counts) if (count > 0) bits -= (count / total) * Math.log2(count / total)
  return bits
}
