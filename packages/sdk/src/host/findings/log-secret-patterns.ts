import { begin, type SecretPattern } from './secret-patterns.ts'

/**
 * Credentials that are recognized by where they are rather than by what they look like: in headers, URLs, forms and command lines.
 * Used to redact only. As findings they would be false alarms too often, but in a log nobody misses them.
 */
export const logSecretPatterns: readonly SecretPattern[] = [
  {
    kind: 'password in Basic authentication',
    anchors: ['basic '],
    pattern: /(?<![\w-])basic[ \t]{1,4}([A-Za-z0-9+/_-]{6,2000}={0,2})/iy,
    check: (match) => (isUserAndPassword(match[1]!) ? lastGroup(match, 1) : undefined),
  },
  {
    kind: 'authorization code',
    anchors: ['code=', 'code_verifier=', 'device_code=', 'assertion='],
    pattern: /(?<![A-Za-z0-9-])(?:code|code_verifier|device_code|(?:client_)?assertion)=([\w.~%/+-]{10,4000})/iy,
    check: (match) => (/\d/.test(match[1]!) && /[A-Za-z]/.test(match[1]!) ? lastGroup(match, 1) : undefined),
  },
  {
    kind: 'password in a command',
    anchors: ['--pass', '--pwd', '--token', '--secret', '--api-key', '--apikey', '--access-key', '--auth-token'],
    pattern:
      /--(?:password|passwd|passphrase|pass|pwd|token|secret|api-?key|access-key|auth-token)(?:=|[ \t]{1,4})["']?([^\s"'-][^\s"']{2,400})/iy,
    check: (match) => lastGroup(match, 1),
  },
  {
    kind: 'password in a command',
    anchors: [' -u ', ' -u"', " -u'", '--user ', '--user=', '--proxy-user'],
    pattern: /(?: -u|--user|--proxy-user)(?:=|[ \t]{0,4})["']?[^\s:"'/]{1,100}:([^\s"':/][^\s"']{0,200})/iy,
    // Numbers are ids of a user and a group.
    check: (match) => (/^\d{1,6}$/.test(match[1]!) ? undefined : lastGroup(match, 1)),
  },
  {
    kind: 'cookie',
    anchors: ['cookie:', '--cookie'],
    pattern: /(?:cookie:[ \t]{0,4}|--cookie(?:=|[ \t]{1,4})["']?)([^\s=;,"'(){}]{1,100}=[^\r\n"']{3,4000})/iy,
    check: (match) => lastGroup(match, 1),
  },
  {
    kind: 'signature of a URL',
    anchors: ['signature=', 'x-amz-security-token=', 'x-amz-credential=', '?sig=', '&sig='],
    pattern: /(?:signature=|x-amz-security-token=|x-amz-credential=|[?&]sig=)([A-Za-z0-9%+/_-]{16,4000}={0,2})/iy,
    check: (match) => lastGroup(match, 1),
  },
  { kind: 'Twilio key', anchors: hexPairs('sk'), pattern: new RegExp(`${begin}SK[0-9a-f]{32}(?![\\w-])`, 'y') },
  {
    kind: 'Twilio token',
    anchors: hexPairs('ac'),
    pattern: new RegExp(`${begin}AC[0-9a-f]{32}:([0-9a-f]{32})(?![\\w-])`, 'y'),
    check: (match) => lastGroup(match, 1),
  },
  {
    kind: 'Telegram token',
    anchors: [...'abcdefghijklmnopqrstuvwxyz0123456789_-'].map((next) => `:aa${next}`),
    pattern: /(?<=(?<![0-9])[0-9]{8,10}):(AA[\w-]{32,35})(?![\w-])/y,
    check: (match) => lastGroup(match, 1),
  },
  {
    // The first part is the id of the bot, which consists of digits, in base64.
    kind: 'Discord token',
    anchors: [...new Set(Array.from({ length: 1_000 }, (_, id) => btoa(String(id).padStart(3, '0')).toLowerCase()))],
    pattern: new RegExp(`${begin}[MNO][DTjz][\\w-]{21,26}\\.[\\w-]{6}\\.[\\w-]{27,38}(?![\\w-])`, 'y'),
  },
  {
    kind: 'Discord webhook',
    anchors: ['discord.com/api/', 'discordapp.com/api/'],
    pattern: /discord(?:app)?\.com\/api\/(?:v\d{1,2}\/)?webhooks\/\d{15,21}\/([\w-]{50,90})/iy,
    check: (match) => lastGroup(match, 1),
  },
]

/** The range of a group that the match ends with. */
function lastGroup(match: RegExpExecArray, group: number): readonly [start: number, end: number] {
  return [match[0].length - match[group]!.length, match[0].length]
}

function isUserAndPassword(encoded: string): boolean {
  try {
    return /^[ -9;-~]{0,200}:[ -~]/.test(atob(encoded.replaceAll('-', '+').replaceAll('_', '/')))
  } catch {
    return false
  }
}

/** Anchors have at least four characters. */
function hexPairs(prefix: string): string[] {
  return Array.from({ length: 256 }, (_, byte) => prefix + byte.toString(16).padStart(2, '0'))
}
