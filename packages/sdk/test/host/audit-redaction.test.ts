import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { AuditLogOptions } from '../../src/host/audit/audit.ts'
import { memoryAudit } from '../../src/host/audit/memory.ts'
import { isSecretName } from '../../src/host/audit/redact.ts'
import { verifyAudit } from '../../src/host/audit/verify.ts'
import { fileAudit } from '../../src/host/node/audit-file.ts'

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
