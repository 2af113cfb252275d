import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { AuditLogOptions } from '../../src/host/audit/audit.ts'
import { memoryAudit } from '../../src/host/audit/memory.ts'
import { verifyAudit } from '../../src/host/audit/verify.ts'
import { redactSecrets } from '../../src/host/findings/secrets.ts'
import { fileAudit } from '../../src/host/node/audit-file.ts'
import { isSecretName } from '../../src/util/secret-names.ts'

async function detailsOf(details: Record<string, unknown>, options: AuditLogOptions = {}): Promise<unknown> {
  const log = memoryAudit(options)
  log.append({ event: 'tool-call', details })
  await log.flush()
  expect(await verifyAudit(log.lines)).toMatchObject({ ok: true, entries: 1 })
  return JSON.parse(log.lines[1] ?? '').details
}

const secret = (number: number) => `s3cr3t-value-${number}-of-the-corpus`

/** Where secrets are in real requests. */
const corpus: Record<string, unknown>[] = [
  { headers: { Authorization: `Bearer ${secret(0)}`, Cookie: `session=${secret(1)}`, 'Set-Cookie': secret(2) } },
  { headers: { 'X-API-Key': secret(3), 'proxy-authorization': secret(4), 'X-Auth-Token': secret(5) } },
  { user: 'grace', arguments: { password: secret(6), login: { db_password: secret(7), PASSPHRASE: secret(8) } } },
  { oauth: { access_token: secret(9), refreshToken: secret(10), id_token: secret(11), client_secret: secret(12) } },
  { env: { AWS_SECRET_ACCESS_KEY: secret(13), GITHUB_TOKEN: secret(14), OPENAI_API_KEY: secret(15) } },
  { list: [{ deep: [{ apiKey: secret(16) }, { private_key: `-----BEGIN KEY-----\n${secret(17)}` }] }] },
  { secrets: [secret(18), { value: secret(19) }], credentials: { user: 'ada', value: secret(20) } },
  {
    headers: [
      { name: 'Authorization', value: secret(21) },
      { key: 'cookie', value: secret(22) },
    ],
  },
  { result: { jwt: secret(23), sessionId: secret(24), auth: { bearer: secret(25) } } },
]

describe('secrets in audit entries', () => {
  it('are never in the file, at any depth', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'audit-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const path = join(folder, 'audit.jsonl')
    const log = await fileAudit(path)
    for (const details of corpus) log.append({ event: 'tool-call', server: 'files', details })
    await log.close()
    const text = readFileSync(path, 'utf8')
    expect(JSON.stringify(corpus)).toContain('s3cr3t-value-25')
    expect(text).not.toContain('s3cr3t')
    expect(text).toContain('"user":"grace"')
    expect(text.split('[redacted]').length - 1).toBeGreaterThanOrEqual(corpus.length)
  })

  it('are recognized by the names of members, without taking harmless ones for secrets', () => {
    const secrets = ['password', 'Passwd', 'X-Api-Key', 'access_token', 'authToken', 'clientSecret', 'COOKIE', 'pwd']
    expect(secrets.filter((name) => !isSecretName(name))).toEqual([])
    const harmless = [
      'maxTokens',
      'tokens',
      'token_type',
      'progressToken',
      'author',
      'passed',
      'key',
      'path',
      'session',
    ]
    expect(harmless.filter(isSecretName)).toEqual([])
  })

  it('are also removed by a function of the caller, before texts are shortened', async () => {
    const redact = (value: unknown) => JSON.parse(JSON.stringify(value).replace(/ghp_\w+/g, '[token]'))
    const text = `${'x'.repeat(3_990)} ghp_${'A'.repeat(36)}`
    const details = JSON.stringify(await detailsOf({ text, password: 'p' }, { redact }))
    expect(details).toContain('[token]')
    expect(details).not.toContain('ghp_')
    expect(details).toContain('"password":"[redacted]"')
  })

  it('stay out of the log if that function fails', async () => {
    const redact = () => {
      throw new Error('oops')
    }
    expect(await detailsOf({ text: 'unchecked' }, { redact })).toEqual({ omitted: 'The redaction failed.' })
  })
})

/** Credentials as they appear in texts, by kind. The part in braces is the secret. Made up for this test. */
const texts: Record<string, string> = {
  'Basic authentication': `Authorization: Basic {${btoa('ada:Tr0ub4dor')}}`,
  'Basic authentication in a command': `curl -H 'authorization: basic {${btoa('svc:correct horse')}}' https://a.example`,
  'an authorization code in a URL': 'GET /callback?code={SplxlOBeZQQYbYS6WxSbIA}&iss=x',
  'an authorization code in a form': 'grant_type=authorization_code&code={4/0AX4XfWh2kQ}&client_id=app',
  'a code verifier': 'code_verifier={dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk}',
  '--password=': 'mysqldump --password={hunter2} shop',
  '--password with a space': 'psql --password {Summer-24} shop',
  '--token': 'deploy --token={abc-def-123} --force',
  'curl -u': 'curl -u ada:{pa55} https://a.example',
  'curl --user': "curl --user 'ada:{s p}' https://a.example".replace('s p', 's_p'),
  'a cookie': 'Cookie: {sid=31d4d96e407aad42; theme=dark}',
  'a cookie that is set': 'Set-Cookie: {session=eyJhIjoxfQ; Path=/; HttpOnly}',
  'a signature of S3':
    'https://b.s3.amazonaws.com/k?X-Amz-Signature={5f1c3a0e9b7d4c2a8e6f0b1d3c5a7e9f5f1c3a0e9b7d4c2a8e6f0b1d3c5a7e9f}',
  'an older signature of S3':
    'https://b.s3.amazonaws.com/k?AWSAccessKeyId=x&Signature={vjbyPxybdZaNmGa%2ByT272YEAiv4%3D}',
  'a signature of Azure': 'https://a.blob.core.windows.net/c?sv=2022-11-02&sig={hGz2Qk7sYw3m9TzXb1LrVt5n8aPcDe4f%3D}',
  'a key of Twilio': 'key {SK0c2f6a9b4d7e1f3a5c8b0d2e4f6a9c1b}',
  'a token of Twilio': 'AC0c2f6a9b4d7e1f3a5c8b0d2e4f6a9c1b:{9f8e7d6c5b4a39281706f5e4d3c2b1a0}',
  'a token of Telegram': 'https://api.telegram.org/bot110201543:{AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0}/getMe',
  'a token of Discord': `Bot {${btoa('123456789012345678').replaceAll('=', '')}.GkX3Pq.aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5zA}`,
  'a webhook of Discord': `https://discord.com/api/webhooks/123456789012345678/{${'aZ3-xY7_bC9'.repeat(6)}}`,
}

describe('credentials in texts of audit entries', () => {
  it.each(Object.entries(texts))('are replaced: %s', async (_, text) => {
    const [, credential = ''] = /\{(.*)\}/.exec(text) ?? []
    const written = JSON.stringify(await detailsOf({ note: text.replace(/[{}]/g, '') }, { redact: redactSecrets }))
    expect(credential).not.toBe('')
    expect(written).not.toContain(credential)
    expect(written).toContain('[redacted')
  })

  it.each([
    'HTTP status code=404, exit code=137',
    'Basic English lessons, basic understanding',
    'sort -u names.txt; tar --user-agent x; docker run -u 1000:1000 image',
    'The cookie: a small cake. const cookie: string',
    'ratio 12:AA battery; SKU and ACE; --password-file secrets.txt',
    'https://a.example/?q=1&sig=short',
  ])('are not seen in %s', (text) => {
    expect(redactSecrets(text)).toBe(text)
  })
})

describe('the size of audit entries', () => {
  const huge = 'x'.repeat(1_000_000)
  const wide = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`member-${index}`, huge]))
  const deep: Record<string, unknown> = {}
  let end = deep
  for (let level = 0; level < 50_000; level++) {
    end.next = {}
    end = end.next as Record<string, unknown>
  }
  const cyclic: Record<string, unknown> = { name: 'a' }
  cyclic.self = [cyclic, cyclic, cyclic]

  it.each([
    ['a long text', { huge }],
    ['many long texts', wide],
    ['a long list', { list: Array(100_000).fill('item of the list') }],
    ['a long list of long texts', { list: Array(1_000).fill(huge) }],
    ['a deep value', deep],
    ['a value that contains itself', cyclic],
    ['long names', { [huge]: 1, [`${huge}2`]: 2 }],
    ['characters that JSON escapes', { text: '\u0000"\\'.repeat(10_000), ['\u0001'.repeat(5_000)]: 1 }],
    ['characters of four bytes', { list: Array(200).fill('𝄞'.repeat(3_000)) }],
  ])('is at most 16 KiB: %s', async (_, details) => {
    const log = memoryAudit()
    log.append({
      event: 'tool-call',
      server: huge,
      caller: '\u0000'.repeat(5_000),
      traceId: huge,
      spanId: huge,
      details,
    })
    await log.flush()
    expect(Buffer.byteLength(log.lines[1] ?? '')).toBeLessThanOrEqual(16 * 1024)
    expect(await verifyAudit(log.lines)).toMatchObject({ ok: true, entries: 1 })
  })

  it('notes the length of a text that was shortened', async () => {
    expect(await detailsOf({ huge })).toEqual({ huge: expect.stringMatching(/^x{4000}… \(1000000 characters\)$/) })
  })

  it('keeps values that JSON can express, with sorted members', async () => {
    const details = { b: [1, null, true], a: { z: 'ä\n', y: 1.5 } }
    expect(JSON.stringify(await detailsOf(details))).toBe('{"a":{"y":1.5,"z":"ä\\n"},"b":[1,null,true]}')
    const odd = JSON.parse('{"__proto__":{"polluted":true},"toJSON":"x"}')
    expect(JSON.stringify(await detailsOf({ odd }))).toBe('{"odd":{"__proto__":{"polluted":true},"toJSON":"x"}}')
    const failing = Object.defineProperty({}, 'a', { enumerable: true, get: () => decodeURI('%') })
    expect(await detailsOf({ failing })).toEqual({ omitted: 'The details are not JSON values.' })
    expect(await detailsOf({ big: 10n, run: () => 1, toJSON: () => 'forged' })).toEqual({ big: '10' })
  })
})

describe('numbers', () => {
  it('are redacted as values of passwords, and not as counts [HOST-014]', () => {
    const value = { password: 12345678, pwd: -98765, retries: 3, password_attempts: 123456, secret: 1 }
    expect(redactSecrets(value)).toEqual({
      password: '[redacted password]',
      pwd: '[redacted password]',
      retries: 3,
      password_attempts: 123456,
      secret: 1,
    })
  })
})
