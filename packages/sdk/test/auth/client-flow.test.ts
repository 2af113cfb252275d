import { createHash } from 'node:crypto'
import { inspect } from 'node:util'
import { startAuthorizationServer } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import { at, failureOf, Gate, grants, join, User } from './client-support.ts'

describe('the authorization URL', () => {
  it.each(['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const)(
    'sends a PKCE challenge whose verifier only the token request contains (%s) [AUTH-063, AUTH-064, AUTH-103]',
    async (revision) => {
      await using as = await startAuthorizationServer()
      await using gate = await Gate.start({ authorizationServers: [as.issuer] })
      const user = new User()
      await using _client = await join(gate, user.auth(), revision)
      const { searchParams } = user.pages[0]!
      expect(searchParams.get('code_challenge_method')).toBe('S256')
      const { code_verifier: verifier } = grants(as, 'authorization_code')[0]!.params
      expect(verifier!.length).toBeGreaterThanOrEqual(43)
      expect(createHash('sha256').update(verifier!).digest('base64url')).toBe(searchParams.get('code_challenge'))
      expect(user.pages[0]!.href).not.toContain(verifier)
    },
  )

  it('never reuses a state or a challenge [AUTH-088]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    for (let round = 0; round < 3; round++) await (await join(gate, user.auth())).close()
    for (const name of ['state', 'code_challenge']) {
      const values = user.pages.map(({ searchParams }) => searchParams.get(name)!)
      expect(new Set(values).size).toBe(3)
      expect(Math.min(...values.map(({ length }) => length))).toBeGreaterThan(20)
    }
  })

  it.each(['2025-06-18', '2025-11-25', '2026-07-28'] as const)(
    'names the resource in the authorization request and in every token request (%s) [AUTH-067, AUTH-068, AUTH-069]',
    async (revision) => {
      await using as = await startAuthorizationServer({ requireResource: false })
      await using gate = await Gate.start({ authorizationServers: [as.issuer], path: '/team/mcp' })
      await using _client = await join(gate, new User().auth(), revision)
      const asked = [...at(as, 'authorize'), ...at(as, 'token')].map(({ params }) => params.resource)
      expect(asked).toEqual([`${gate.site.origin}/team/mcp`, `${gate.site.origin}/team/mcp`])
    },
  )

  it('keeps the query of the authorization endpoint, but overrides conflicting parameters [SEC-006]', async () => {
    await using as = await startAuthorizationServer()
    const endpoint = `${as.issuer}/authorize?tenant=7&state=fixed&redirect_uri=https%3A%2F%2Fattacker.example`
    as.faults.always('metadata', { patch: { authorization_endpoint: endpoint } })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    await using _client = await join(gate, user.auth())
    const { searchParams } = user.pages[0]!
    expect(searchParams.get('tenant')).toBe('7')
    expect(searchParams.getAll('state')).not.toContain('fixed')
    expect(searchParams.getAll('redirect_uri')).toEqual(['http://127.0.0.1:7/callback'])
  })

  it.each([
    'javascript:alert(document.cookie)//',
    'data:text/html,<script>alert(1)</script>',
    'file:///etc/passwd',
    'vbscript:msgbox',
    'ms-msdt:/id',
    'http://as.example/authorize',
    'ftp://127.0.0.1/authorize',
    ' calc.exe',
    42,
    undefined,
  ])('does not open an authorization URL that is %s [SEC-004, SEC-006]', async (page) => {
    await using as = await startAuthorizationServer()
    as.faults.always('metadata', { patch: { authorization_endpoint: page } })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    const error = await failureOf(join(gate, user.auth()))
    expect(error.message).toContain('authorization endpoint')
    expect(user.pages).toEqual([])
  })
})

describe('the requested scope', () => {
  it.each([
    ['what the challenge says', 'files:read', ['files:write', 'admin'], 'files:read'],
    ['what the challenge says, in no relation to the list', 'elsewhere', ['files:write'], 'elsewhere'],
    ['all that the resource lists, without a challenge', undefined, ['files:write', 'admin'], 'files:write admin'],
    ['left out, without either', undefined, undefined, null],
  ])('requests the scope %s [AUTH-072, AUTH-073, AUTH-074]', async (_, challenged, listed, asked) => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    gate.metadata = { scopes_supported: listed }
    if (challenged) gate.challenge += `, scope="${challenged}"`
    const user = new User()
    await using _client = await join(gate, user.auth())
    expect(user.scopes).toEqual([asked])
  })

  it.each([
    ['has', ['read', 'offline_access'], 'read offline_access'],
    ['does not have', ['read'], 'read'],
  ])(
    'requests offline_access only where the authorization server %s it [AUTH-099]',
    async (_, scopesSupported, asked) => {
      await using as = await startAuthorizationServer({ scopesSupported })
      await using gate = await Gate.start({ authorizationServers: [as.issuer] })
      gate.challenge += ', scope="read"'
      const user = new User()
      await using _client = await join(gate, user.auth())
      expect(user.scopes).toEqual([asked])
    },
  )
})

describe('the authorization response', () => {
  const other = 'https://attacker.example'

  it.each([
    ['announced', 'the same', true, (iss: string) => iss, true],
    ['announced', 'absent', true, () => null, false],
    ['announced', 'empty', true, () => '', false],
    ['announced', 'another', true, () => other, false],
    ['not announced', 'the same', false, (iss: string) => iss, true],
    ['not announced', 'absent', false, () => null, true],
    ['not announced', 'empty', false, () => '', false],
    ['not announced', 'another', false, () => other, false],
    ['announced', 'written with a slash', true, (iss: string) => `${iss}/`, false],
    ['announced', 'in capitals', true, (iss: string) => iss.toUpperCase(), false],
    ['announced', 'percent-encoded', true, (iss: string) => iss.replace('127', '%3127'), false],
    ['announced', 'with a dot path', true, (iss: string) => `${iss}/.`, false],
    ['not announced', 'written with a slash', false, (iss: string) => `${iss}/`, false],
  ])(
    'checks iss %s and %s before it uses the code [AUTH-083, AUTH-084, AUTH-085]',
    async (_, __, issParameter, iss, isTaken) => {
      await using as = await startAuthorizationServer({ issParameter })
      as.faults.redirect = { iss: iss(as.issuer) }
      await using gate = await Gate.start({ authorizationServers: [as.issuer] })
      const work = join(gate, new User().auth())
      if (isTaken) await (await work).close()
      else await failureOf(work)
      expect(at(as, 'token')).toHaveLength(isTaken ? 1 : 0)
    },
  )

  it('treats an explicit default port as another issuer [AUTH-085]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: ['https://as.example'] })
    const document = { issuer: 'https://as.example', authorization_endpoint: 'https://as.example/authorize' }
    const more = { token_endpoint: `${as.issuer}/token`, code_challenge_methods_supported: ['S256'] }
    const asked: string[] = []
    const fetch = async (url: string) => {
      asked.push(url)
      if (url.startsWith(gate.site.origin)) return globalThis.fetch(url)
      return Response.json({ ...document, ...more })
    }
    const authorize = async (page: URL) =>
      new URLSearchParams({ code: 'c', state: page.searchParams.get('state')!, iss: 'https://as.example:443' })
    await failureOf(join(gate, new User().auth({ clientId: 'c', fetch, authorize })))
    expect(asked.filter((url) => url.includes('/token'))).toEqual([])
  })

  it('compares iss with the issuer recorded when the user left [AUTH-082]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    user.alter = (back) => {
      as.faults.always('metadata', { patch: { issuer: other, token_endpoint: `${other}/token` } })
      gate.authorizationServers = [other]
      back.searchParams.set('iss', other)
    }
    await failureOf(join(gate, user.auth()))
    expect(at(as, 'token')).toEqual([])
  })

  it('ignores a response of another issuer and shows none of its text [AUTH-086]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    user.alter = ({ searchParams }) => {
      searchParams.delete('code')
      searchParams.set('iss', other)
      searchParams.set('error', 'temporarily_unavailable')
      searchParams.set('error_description', 'Call 555-0100 to unlock')
      searchParams.set('error_uri', `${other}/help`)
    }
    const error = await failureOf(join(gate, user.auth()))
    const shown = `${error.message} ${error.trace} ${inspect(error, { depth: 9, showHidden: true })}`
    expect(shown).not.toMatch(/temporarily_unavailable|555-0100|attacker\.example\/help/)
    expect(at(as, 'authorize')).toHaveLength(1)
    expect(at(as, 'token')).toEqual([])
  })

  it.each([
    ['absent', (back: URL) => back.searchParams.delete('state')],
    ['another', (back: URL) => back.searchParams.set('state', 'x')],
    ['empty', (back: URL) => back.searchParams.set('state', '')],
    ['there twice', (back: URL) => back.searchParams.append('state', 'x')],
  ])('discards a response whose state is %s [AUTH-088]', async (_, alter) => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    user.alter = alter
    await failureOf(join(gate, user.auth()))
    expect(at(as, 'token')).toEqual([])
  })

  it('reports that the user denied access', async () => {
    await using as = await startAuthorizationServer()
    as.faults.authorizationError = 'access_denied'
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    const error = await failureOf(join(gate, user.auth()))
    expect(error.message).toContain('access_denied')
    expect(user.pages).toHaveLength(1)
  })

  it('includes no part of the response in errors', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    let code = ''
    user.alter = ({ searchParams }) => {
      code = searchParams.get('code')!
      searchParams.set('state', 'x')
    }
    const error = await failureOf(join(gate, user.auth()))
    expect(code).not.toBe('')
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(code)
  })
})
