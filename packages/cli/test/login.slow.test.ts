import { readFileSync } from 'node:fs'
import { McpServer, serveHttp } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { Site } from '../../sdk/test/auth/client-support.ts'
import { protectedServer } from '../../sdk/test/auth/protected-server.ts'
import type { NodeProcess } from '../../sdk/test/kit/child-process.ts'
import { readJson } from './json-output.ts'
import { fixture, longestLine, Workspace } from './support.ts'
import { startWebSite } from './web-site.ts'

/** Opens the page that the command prints, as a browser would, and follows the redirects to the command. */
async function openPrintedPage(child: NodeProcess): Promise<void> {
  const page = await child.until(() => /\n {2}(http\S+)\n/.exec(child.stderr)?.[1])
  await (await fetch(page)).text()
}

async function logIn(work: Workspace, args: readonly string[]) {
  await using child = work.start(args)
  await openPrintedPage(child)
  const { code } = await child.exited
  return { code, stdout: child.stdout, stderr: child.stderr }
}

describe('tenon login', () => {
  it('stores a login that every command uses, until logout', async () => {
    using work = new Workspace()
    await using vault = await protectedServer()
    const before = await work.run(['call', vault.url, 'whoami', '--json'])
    expect(before.code).toBe(4)
    expect(readJson('error', before.stdout).error.hint).toContain(`tenon login ${vault.url}`)
    const login = await logIn(work, ['login', vault.url])
    expect(login.code).toBe(0)
    expect(login.stdout.replace(/\s+/g, ' ')).toContain(`Logged in at ${vault.as.issuer}`)
    expect((await work.run(['call', vault.url, 'whoami'])).stdout).toMatch(/^alice/)
    const again = await work.run(['login', vault.url, '--json'])
    expect(readJson('login', again.stdout)).toMatchObject({ isNew: false, login: { issuer: vault.as.issuer } })
    expect(readJson('logout', (await work.run(['logout', vault.url, '--json'])).stdout).wasLoggedIn).toBe(true)
    expect((await work.run(['call', vault.url, 'whoami'])).code).toBe(4)
    expect((await work.run(['logout', vault.url])).stdout).toContain('There is no login')
  })

  it('logs in again for scopes that the login lacks, and keeps those that it has', async () => {
    using work = new Workspace()
    await using vault = await protectedServer()
    await logIn(work, ['login', vault.url, '--scope', 'notes:read'])
    const wider = await logIn(work, ['login', vault.url, '--scope', 'notes:write', '--json'])
    const { login, isNew } = readJson('login', wider.stdout)
    expect({ code: wider.code, isNew }).toEqual({ code: 0, isNew: true })
    expect(login.scopes).toEqual(expect.arrayContaining(['notes:read', 'notes:write']))
    const same = await work.run(['login', vault.url, '--scope', 'notes:read', '--json'])
    expect(readJson('login', same.stdout).isNew).toBe(false)
    // A login that is not completed changes nothing.
    await using abandoned = work.start(['login', vault.url, '--scope', 'notes:admin'])
    await abandoned.until(() => abandoned.stderr.includes('Waiting for the login'))
    expect((await work.run(['call', vault.url, 'whoami'])).stdout).toMatch(/^alice/)
  })

  it('is used by a host, too', async () => {
    using work = new Workspace()
    await using vault = await protectedServer()
    await logIn(work, ['login', vault.url])
    const config = work.write('mcp.json', { mcpServers: { vault: { url: vault.url } } })
    const policy = work.write('policy.json', [
      { kind: 'connect', decide: 'allow' },
      { tool: '*', decide: 'allow' },
    ])
    const { code, stdout } = await work.run(['chat', config, '--policy', policy], { input: '/call vault_whoami\n' })
    expect(code).toBe(0)
    expect(stdout).toContain('alice')
  })

  it('logs in during another command with --auth, and prints no secret with --trace', async () => {
    using work = new Workspace()
    await using vault = await protectedServer()
    const { code, stdout, stderr } = await logIn(work, ['call', vault.url, 'whoami', '--auth', '--trace'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^alice/)
    expect(stderr).toContain('OAuth  POST')
    expect(stderr).toContain('authorization: Bearer [redacted]')
    const stored = readFileSync(work.file('.config/tenon/tokens.json'), 'utf8')
    const secrets = [...stored.matchAll(/(?:accessToken|refreshToken)\\?":\\?"([^"\\]+)/g)].map(([, secret]) => secret)
    expect(secrets.length).toBeGreaterThan(0)
    for (const secret of secrets) expect(stderr).not.toContain(secret)
  })

  it('says that a server requires no login', async () => {
    using work = new Workspace()
    await using http = await serveHttp(new McpServer({ name: 'open', version: '1' }), { port: 0, exit: false })
    const { code, stdout } = await work.run(['login', http.url, '--json'])
    expect(code).toBe(0)
    expect(readJson('login', stdout).login).toBeNull()
  })

  it('refuses targets that have no URL', async () => {
    using work = new Workspace()
    expect((await work.run(['login', fixture('notes.js')])).code).toBe(2)
    expect((await work.run(['login'])).code).toBe(2)
  })

  it('explains a login that the authorization server refuses', async () => {
    using work = new Workspace()
    await using vault = await protectedServer()
    vault.as.faults.authorizationError = 'access_denied'
    const { code, stderr } = await logIn(work, ['login', vault.url])
    expect(code).toBe(4)
    expect(stderr).toContain('access_denied')
    expect(stderr.replace(/\s+/g, ' ')).toContain(`tenon auth explain ${vault.url}`)
  })
})

describe('tenon login at a server whose operator issues tokens', () => {
  it.each(['serve', 'gateway'])('says so, and how to pass one, at tenon %s', async (name) => {
    using work = new Workspace()
    const args = {
      serve: [fixture('notes.js')],
      gateway: [work.writeConfig(['notes']), '--allow-all', '--trust-config'],
    }
    const env = { TENON_SERVE_TOKEN: 'alice:secret-of-alice-1' }
    await using served = work.start([name, ...args[name as keyof typeof args], '--port', '0'], env)
    const url = await served.until(() => /^http\S+(?=\n)/.exec(served.stdout)?.[0])
    for (const options of [
      ['login', url],
      ['list', url, '--auth'],
      ['login', url, '--header', 'X-Other: 1'],
    ]) {
      const { code, stdout } = await work.run([...options, '--json'])
      expect(code).toBe(4)
      const { error } = readJson('error', stdout)
      expect(error.code).toBe('auth')
      expect(error.message).toBe(`This server takes a token that its operator issues: ${url}`)
      expect(error.hint).toContain("--header 'Authorization: Bearer <token>'")
      expect(error.hint).not.toContain('tenon login')
    }
    const wrong = await work.run(['login', url, '--json', '--header', 'Authorization: Bearer not-this-one-1'])
    expect(wrong.code).toBe(4)
    expect(readJson('error', wrong.stdout).error.message).toBe(`The server does not accept the token: ${url}`)
    const listed = await work.run(['list', url, '--header', 'Authorization: Bearer wrong', '--json'])
    expect(listed.code).toBe(4)
    expect(readJson('error', listed.stdout).error.message).toBe(`The server rejected the token of --header: ${url}`)
    const right = await work.run(['list', url, '--header', 'Authorization: Bearer secret-of-alice-1'])
    expect(right.code).toBe(0)
  })
})

describe('tenon auth explain', () => {
  it('shows each step of discovery without logging in', async () => {
    using work = new Workspace()
    await using vault = await protectedServer()
    const { code, stdout } = await work.run(['auth', 'explain', vault.url])
    expect(code).toBe(0)
    expect(stdout).toContain('Request without a token')
    expect(stdout).toContain('Metadata of the server')
    expect(stdout).toContain('Metadata of the authorization server')
    expect(stdout).toContain('Registration of clients')
    expect(stdout.trimEnd()).toMatch(/Everything that clients need is there\.$/)
    expect(longestLine(stdout)).toBeLessThanOrEqual(80)
    const json = readJson('auth-explain', (await work.run(['auth', 'explain', vault.url, '--json'])).stdout)
    expect(json.verdict).toBe('ok')
    expect(vault.as.requests.filter(({ endpoint }) => endpoint === 'register')).toEqual([])
  })

  it('goes on with --login, prints no secret, and stores nothing', async () => {
    using work = new Workspace()
    await using vault = await protectedServer()
    const { code, stdout } = await logIn(work, ['auth', 'explain', vault.url, '--login', '--json'])
    expect(code).toBe(0)
    const { steps } = readJson('auth-explain', stdout)
    const titles = steps.map(({ title }: { title: string }) => title)
    expect(titles.slice(-4)).toEqual(['Registration', 'Authorization page', 'Token', 'Request with the token'])
    expect(stdout).not.toMatch(/eyJ|code_verifier/)
    expect((await work.run(['list', vault.url])).code).toBe(4)
  })

  it('shows the step of the login that fails', async () => {
    using work = new Workspace()
    await using vault = await protectedServer()
    vault.as.faults.expiredTokens = true
    const { code, stdout } = await logIn(work, ['auth', 'explain', vault.url, '--login', '--json'])
    expect(code).toBe(6)
    expect(readJson('auth-explain', stdout).verdict).toBe('broken')
  })

  it('says that a server requires no authorization', async () => {
    using work = new Workspace()
    await using http = await serveHttp(new McpServer({ name: 'open', version: '1' }), { port: 0, exit: false })
    const json = readJson('auth-explain', (await work.run(['auth', 'explain', http.url, '--json'])).stdout)
    expect(json.verdict).toBe('no-authorization')
  })

  it('finds what is wrong with the metadata', async () => {
    using work = new Workspace()
    await using site = await Site.start(({ path }) => {
      if (path === '/mcp') return { status: 401, headers: { 'www-authenticate': 'Bearer realm="x"' } }
      if (path === '/.well-known/oauth-protected-resource/mcp') {
        return { body: { resource: 'https://other.example/mcp', authorization_servers: [] } }
      }
      return undefined
    })
    const { code, stdout } = await work.run(['auth', 'explain', `${site.origin}/mcp`, '--json'])
    expect(code).toBe(6)
    const { verdict, steps } = readJson('auth-explain', stdout)
    expect(verdict).toBe('broken')
    const found = steps.filter(({ outcome }: { outcome: string }) => outcome !== 'ok')
    expect(found.map((step: { outcome: string; found: string }) => `${step.outcome}: ${step.found}`)).toEqual([
      'warning: WWW-Authenticate: Bearer realm="x"',
      'failed: "resource": "https://other.example/mcp"',
      'failed: "authorization_servers": []',
    ])
  })

  it('finds what is wrong with the authorization server', async () => {
    using work = new Workspace()
    await using site: Site = await Site.start(({ path }) => {
      const { origin } = site
      if (path === '/mcp') {
        const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`
        return { status: 401, headers: { 'www-authenticate': `Bearer resource_metadata="${metadata}"` } }
      }
      if (path === '/.well-known/oauth-protected-resource/mcp') {
        return { body: { resource: `${origin}/mcp`, authorization_servers: [origin] } }
      }
      if (path !== '/.well-known/openid-configuration') return undefined
      return { body: { issuer: `${origin}/`, token_endpoint: 'http://other.example/token' } }
    })
    const { stdout } = await work.run(['auth', 'explain', `${site.origin}/mcp`, '--json'])
    const { steps } = readJson('auth-explain', stdout)
    const failed = steps.filter(({ outcome }: { outcome: string }) => outcome === 'failed')
    expect(failed.map(({ expected }: { expected: string }) => expected)).toEqual([
      `"issuer" is exactly ${site.origin}`,
      '"authorization_endpoint" is an https: URL',
      '"token_endpoint" is an https: URL',
      '"code_challenge_methods_supported" contains "S256"',
    ])
  })

  it('explains a web page, and a port where nothing listens', async () => {
    using work = new Workspace()
    await using page = await startWebSite()
    const { code, stdout } = await work.run(['auth', 'explain', page.url, '--json'])
    expect(code).toBe(6)
    expect(readJson('auth-explain', stdout).steps[0].advice).toContain('/mcp')
    const nothing = await work.run(['auth', 'explain', 'http://127.0.0.1:9/mcp', '--json'])
    expect(nothing.code).toBe(3)
    readJson('error', nothing.stdout)
  })
})
