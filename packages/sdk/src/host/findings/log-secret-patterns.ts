import { begin, isUserAndPassword, lastGroup, type SecretPattern } from './secret-patterns.ts'

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
]

/** Anchors have at least four characters. */
function hexPairs(prefix: string): string[] {
  return Array.from({ length: 256 }, (_, byte) => prefix + byte.toString(16).padStart(2, '0'))
}
