import { describe, expect, it } from 'vitest'
import { sanitizeText, sanitizeValue } from './sanitize.ts'

describe('sanitizeText', () => {
  it.each([
    [
      'connect ECONNREFUSED postgres://admin:pw@db:5432/app',
      'connect ECONNREFUSED postgres://admin:[redacted]@db:5432/app',
    ],
    ['mongodb+srv://u:p@ss/w0rd@cluster/x', 'mongodb+srv://u:[redacted]@cluster/x'],
    ['redis://:s3cret@cache:6379', 'redis://:[redacted]@cache:6379'],
    ['password=hunter2 for ada', 'password=[redacted] for ada'],
    ['Server=db;User Id=sa;Password=pw;Encrypt=yes', 'Server=db;User Id=sa;Password=[redacted];Encrypt=yes'],
    ['AccountKey=abc/def==;EndpointSuffix=x', 'AccountKey=[redacted];EndpointSuffix=x'],
    ['token: abc123, retry', 'token: [redacted], retry'],
    ['secret: swordfish', 'secret: [redacted]'],
    ['Resource not found: secret://file', 'Resource not found: secret://file'],
    ['{"password":"correct horse","user":"ada"}', '{"password":"[redacted]","user":"ada"}'],
    ['{\\"apiKey\\":\\"hunter2\\"}', '{\\"apiKey\\":\\"[redacted]\\"}'],
    ['GET https://a.example/?access_token=abc&page=1', 'GET https://a.example/?access_token=[redacted]&page=1'],
    ['Cookie: sid=abc; theme=dark', 'Cookie: [redacted]; theme=dark'],
    [
      'Command failed: db --password=foo --token abc -v',
      'Command failed: db --password=[redacted] --token [redacted] -v',
    ],
    ['Authorization: Bearer sk-live', 'Authorization: Bearer [redacted]'],
    ['authorization: basic YWRtaW46cHc=', 'authorization: basic [redacted]'],
    ['key ghp_abcdefghij0123456789abcdefghij012345 failed', 'key [redacted] failed'],
    ['AKIAABCDEFGHIJKLMN12', '[redacted]'],
    ['sk-proj-abc1234567890123456', '[redacted]'],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl', '[redacted]'],
    ['-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nafter', '[redacted]\nafter'],
    ['-----BEGIN PRIVATE KEY-----\nabc', '[redacted]'],
  ])('redacts the secret in %j [TOOL-052, LOG-015]', (text, expected) => {
    expect(sanitizeText(text)).toBe(expected)
    expect(sanitizeText(expected)).toBe(expected)
  })

  it.each([
    ['a \x1b[31mred\x1b[0m word', 'a red word'],
    ['\x1b]0;title\x07text', 'text'],
    ['\x1b]8;;https://a.example\x1b\\link\x1b]8;;\x1b\\', 'link'],
    ['a\0b\x08c\x7fd\x9be', 'abcde'],
    ['line\r\nnext\rover\ttab\n', 'line\r\nnextover\ttab\n'],
    ['user\u202etxt.exe\u2066 \u200bx\ufeff', 'usertxt.exe x'],
    ['x\u{e0041}\u{e0042}', 'x'],
  ])('removes characters that hide or reorder text from %j [TOOL-052]', (text, expected) => {
    expect(sanitizeText(text)).toBe(expected)
  })

  it.each([
    'The disk is full: 12 of 12 GB',
    'http://localhost:3000/@scope/pkg and http://a.example:80/x?mail=ada@b.example',
    'ssh://git@github.com/a/b',
    'password: must be longer than 8 characters',
    'token: expired',
    'Invalid password for ada',
    "Access denied for user 'root'@'localhost' (using password: YES)",
    'Unexpected token = in JSON at position 3',
    `Unexpected token '<', "<html>" is not valid JSON`,
    'Used tokens: 512, nextPageToken: abc',
    'Basic authentication failed. Bearer Authentication required. Missing Bearer token.',
    'WWW-Authenticate: Bearer realm="x", error="invalid_token"',
    'sk-learn-something-with-a-long-name',
    'commit 5f2d7a3c9e1b4d6f8a0c2e4b6d8f0a1c3e5b7d9f',
    'Zażółć gęślą jaźń 👩‍👩‍👧 می‌خواهم',
    'password=""; x="y"',
  ])('leaves %j as it is', (text) => {
    expect(sanitizeText(text)).toBe(text)
  })

  it.each([
    'eyJ-',
    'eyJaaaaaaaa.',
    '://a:',
    'password=',
    '\x1b]',
    '\x1b[',
    'Bearer ',
    '-----BEGIN A ',
    '--a-',
    "token'",
    '-',
  ])('reads a long text of %j', (unit) => {
    const text = unit.repeat(500_000 / unit.length)
    expect(sanitizeText(text).length).toBeLessThanOrEqual(text.length * 3)
  })
})

describe('sanitizeValue', () => {
  it('sanitizes every text, and the values of members with secret names [LOG-015]', () => {
    const value = {
      user: 'ada',
      password: 'hunter2',
      pin: { clientSecret: 'x', accessToken: 'y', pwd: 123_456, nextPageToken: 'z', token: 7, secret: '' },
      list: ['token=abc', 5, null, true],
    }
    expect(sanitizeValue(value, sanitizeText)).toEqual({
      user: 'ada',
      password: '[redacted]',
      pin: {
        clientSecret: '[redacted]',
        accessToken: '[redacted]',
        pwd: '[redacted]',
        nextPageToken: 'z',
        token: 7,
        secret: '',
      },
      list: ['token=[redacted]', 5, null, true],
    })
  })

  it('leaves binary data as it is', () => {
    const content = [
      { type: 'image', data: 'token=abc', mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'a://b', blob: 'token=abc' } },
    ]
    expect(sanitizeValue(content, sanitizeText)).toEqual(content)
  })

  it('returns a value that is not JSON as it is', () => {
    const circular: Record<string, unknown> = {}
    circular.self = circular
    expect(sanitizeValue(circular, sanitizeText)).toBe(circular)
    expect(sanitizeValue(undefined, sanitizeText)).toBeUndefined()
  })
})
