import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join as joinPath } from 'node:path'
import { AuthError, clientCredentials, GuardError, oauth, openBrowser, waitForRedirect } from 'tenon/auth/client'
import { type ConnectOptions, connect } from 'tenon/client'
import { startAuthorizationServer } from 'tenon/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { at, failureOf, Gate, join, Site, User } from '../auth/client-support.ts'
import { modern, script, sessions } from '../transport/http/client/support.ts'
import { fixture, node } from '../transport/stdio/support.ts'

describe('redirects', () => {
  const rims: [string, ConnectOptions][] = [
    ['node:http', {}],
    ['fetch', { fetch: (url, init) => fetch(url, init) }],
  ]

  it.each(rims)(
    'GHSA-9g45-5xwm-f3wc: does not send headers of the caller to another origin (%s) [SESS-004]',
    async (_, rim) => {
      await using thief = await script((received) => received.status(200))
      const headers = { 'x-api-key': 'secret', cookie: 'a=secret', authorization: 'Bearer secret' }
      for (const status of [301, 302, 303, 307, 308]) {
        for (const start of [sessions, modern]) {
          await using server = await start((received) => {
            if (received.message.method !== 'tools/list') return false
            received.status(status, '', { Location: thief.url })
            return true
          })
          await using client = await connect(server.url, { ...rim, headers })
          await expect(client.listTools().then((page) => page)).rejects.toMatchObject({ code: 'http', status })
        }
      }
      expect(thief.received).toEqual([])
    },
  )

  it.each([301, 302, 303, 307, 308])(
    'vercel/ai #20578, adcp-client #2427: does not send secrets, codes or verifiers after a redirect (%i) of the token endpoint [AUTH-097]',
    async (status) => {
      await using thief = await Site.start(() => ({ body: { access_token: 'x', token_type: 'Bearer' } }))
      const clients = [{ client_id: 'machine', client_secret: 'hush', redirect_uris: ['http://127.0.0.1:7/callback'] }]
      await using as = await startAuthorizationServer({ clients })
      as.faults.always('token', { status, headers: { location: `${thief.origin}/token` } })
      await using gate = await Gate.start({ authorizationServers: [as.issuer] })
      await failureOf(join(gate, clientCredentials({ clientId: 'machine', clientSecret: 'hush', issuer: as.issuer })))
      await failureOf(join(gate, new User().auth({ clientId: 'machine', clientSecret: 'hush', issuer: as.issuer })))
      expect(at(as, 'token')).toHaveLength(2)
      expect(thief.visits).toEqual([])
    },
  )

  it.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://10.0.0.1/',
    'http://192.168.1.1/admin',
    'http://[fd00::1]/',
    'http://2852039166/',
    'http://0xa9fea9fe/',
    'http://[::ffff:169.254.169.254]/',
    'https://metadata.google.internal/',
    'file:///etc/passwd',
  ])(
    'vercel/ai #20578, adcp-client #2427: does not follow a metadata redirect to %s or connect to that address [SEC-001, SEC-003]',
    async (place) => {
      await using gate = await Gate.start({ authorizationServers: [] })
      const user = new User()
      gate.challenge = `Bearer resource_metadata="${place}"`
      expect((await failureOf(join(gate, user.auth()))).cause).toBeInstanceOf(GuardError)
      await using leads = await Site.start(() => ({ status: 302, headers: { location: place } }))
      gate.challenge = `Bearer resource_metadata="${leads.origin}/metadata"`
      expect((await failureOf(join(gate, user.auth()))).cause).toBeInstanceOf(GuardError)
      expect(leads.visits).toHaveLength(1)
      expect(user.pages).toEqual([])
    },
  )
})

describe('untrusted metadata', () => {
  it.each([
    ['another server', 'https://bank.example/mcp'],
    ['another path', (url: URL) => `${url.origin}/other`],
    ['a path with the same prefix', (url: URL) => `${url.href}2`.replace('/mcp2', '/mc')],
    ['an unnamed resource', undefined],
  ])('GHSA-33f5-2c5q-wgwj: does not use metadata of %s [AUTH-034]', async (_, resource) => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    gate.metadata = { resource: typeof resource === 'function' ? resource(gate.url) : resource }
    const user = new User()
    const error = await failureOf(join(gate, user.auth()))
    expect(error.message).toContain(`not of ${gate.url.href}`)
    expect([user.pages, as.requests]).toEqual([[], []])
  })

  it.each([
    'javascript:fetch("/proxy?token="+localStorage.token)//',
    'JaVaScRiPt:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'vbscript:x',
    'file:///etc/passwd',
  ])('CVE-2025-58444: does not open a page at %s [SEC-004]', async (page) => {
    await using as = await startAuthorizationServer()
    as.faults.always('metadata', { patch: { authorization_endpoint: page } })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    expect((await failureOf(join(gate, user.auth()))).message).toContain('authorization endpoint')
    expect(user.pages).toEqual([])
    await expect(openBrowser(page)).rejects.toThrow(/must use https:/)
  })
})

describe('the browser', () => {
  /** Replaces the program that opens the browser with one that records its arguments and then fails. */
  function opener() {
    const folder = mkdtempSync(joinPath(tmpdir(), 'opener-'))
    const { PATH } = process.env
    const notes = joinPath(folder, 'notes')
    for (const name of ['xdg-open', 'open']) {
      writeFileSync(joinPath(folder, name), `#!/bin/sh\nprintf '%s\\n' "$@" > '${notes}'\nexit 3\n`)
      chmodSync(joinPath(folder, name), 0o755)
    }
    process.env.PATH = `${folder}:${PATH}`
    onTestFinished(() => {
      process.env.PATH = PATH
      rmSync(folder, { recursive: true })
    })
    return { canary: joinPath(folder, 'canary'), given: () => readFileSync(notes, 'utf8').trimEnd().split('\n') }
  }

  it
    .skipIf(process.platform === 'win32')
    .each([
      (canary: string) => `$(touch ${canary})`,
      (canary: string) => `\`touch ${canary}\``,
      (canary: string) => `";touch ${canary};"`,
      (canary: string) => `'|touch ${canary}#`,
      (canary: string) => `$([IO.File]::WriteAllText('${canary}','x'))`,
    ])(
    'CVE-2025-6514, CVE-2025-10619: passes the URL as one argument without a shell (%#) [SEC-005]',
    async (attack) => {
      const { canary, given } = opener()
      await using as = await startAuthorizationServer()
      const endpoint = `${as.issuer}/authorize?next=${attack(canary)}`
      as.faults.always('metadata', { patch: { authorization_endpoint: endpoint } })
      await using gate = await Gate.start({ authorizationServers: [as.issuer] })
      const shown = vi.spyOn(console, 'error').mockImplementation(() => {})
      onTestFinished(() => shown.mockRestore())
      const failure = failureOf(join(gate, oauth()))
      await vi.waitFor(() => expect(shown).toHaveBeenCalled(), { timeout: 9_000 })
      const [, page] = /^ {2}(\S.*)$/m.exec(shown.mock.calls.flat().join('\n'))!
      const { searchParams } = new URL(page!)
      const refusal = new URLSearchParams({ error: 'access_denied', state: searchParams.get('state')! })
      await fetch(`${searchParams.get('redirect_uri')}?${refusal}`)
      expect(await failure).toBeInstanceOf(AuthError)
      expect(given()).toHaveLength(1)
      // The user sees the same URL, and may paste it into a terminal.
      for (const url of [given()[0], page]) {
        expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/authorize\?[^\s"'`$();|<>\\]*$/)
      }
      expect(existsSync(canary)).toBe(false)
    },
  )

  it('CVE-2025-62800: does not show parameters of the redirect in the browser', async () => {
    const waiting = await waitForRedirect()
    const hostile = encodeURIComponent('<script>alert("zebra")</script><img src=x onerror=zebra>')
    const query = `error=${hostile}&error_description=${hostile}&state=${hostile}`
    const answers = [
      await fetch(`${new URL(waiting.redirectUri).origin}/${hostile}?${query}`),
      await fetch(`${waiting.redirectUri}?${query}`),
    ]
    for (const answer of answers) {
      expect(await answer.text()).not.toMatch(/zebra|<script|<img|onerror/)
      expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
    }
    await waiting.result
  })
})

describe('a client of a stdio server', () => {
  it('CVE-2026-63119, GHSA-74gp-qhv5-v493, openclaw #119379: survives a line that is too long', async () => {
    const command = { command: node, args: [fixture('bad-server.js')], maxMessageBytes: 1_000_000 }
    const env = { HUGE: String(8 * 1024 * 1024) }
    await using client = await connect({ ...command, env }, { revision: '2025-11-25', restarts: 0 })
    await client.request('bad')
    expect(await client.request('next')).toMatchObject({ method: 'next' })
  })

  it('python-sdk #2328: survives bytes that are not UTF-8', async () => {
    const bytes = Buffer.from([0xff, 0xfe, 0x80, 0x0a, 0x7b, 0x22, 0xc3, 0x28, 0x22, 0x7d, 0x0a])
    const program = { command: node, args: [fixture('bad-server.js')], env: { BAD: bytes.toString('base64') } }
    await using client = await connect(program, { revision: '2025-11-25', restarts: 0 })
    await client.request('bad')
    expect(await client.request('next')).toMatchObject({ method: 'next' })
  })
})
