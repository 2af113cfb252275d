import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join as joinPath } from 'node:path'
import { inspect } from 'node:util'
import {
  AuthError,
  beginAuthorization,
  completeAuthorization,
  MemoryTokenStore,
  type OAuthClientProvider,
  oauth,
  type ProviderClientInformation,
  type ProviderTokens,
  withProvider,
} from 'tenon/auth/client'
import { connect, HttpError, SSEClientTransport, StreamableHTTPClientTransport, TimeoutError } from 'tenon/client'
import { startAuthorizationServer } from 'tenon/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { movableDate } from '../kit/time.ts'
import { at, Gate, join, User } from './client-support.ts'
import { followRedirect, protectedServer, tokenRequests, visits } from './protected-server.ts'

const redirectUrl = 'https://app.example/back'

async function errorOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  )
}

describe('oauth({ interactive: false })', () => {
  it('fails where a login is needed, and says how users log in', async () => {
    await using vault = await protectedServer()
    const error = await errorOf(connect(vault.url, { auth: oauth({ interactive: false }) }))
    expect(error).toBeInstanceOf(AuthError)
    expect((error as AuthError).message).toMatch(/beginAuthorization.*authorize/)
    expect(String((error as AuthError).trace)).toContain('no user can be asked')
    expect(visits(vault.as)).toEqual([])
    expect(at(vault.as, 'register')).toEqual([])
  })

  it('uses and refreshes what beginAuthorization left in the store', async () => {
    const date = movableDate()
    await using vault = await protectedServer({ accessTokenSeconds: 1, refreshTokens: 'always' })
    const store = new MemoryTokenStore()
    const { url, flow } = await beginAuthorization(vault.url, { redirectUrl, store })
    await completeAuthorization(await followRedirect(url), flow, { store })
    // Longer than the token lives.
    date.advance(1_100)
    await using client = await connect(vault.url, { auth: oauth({ interactive: false, store }) })
    expect((await client.callTool('whoami')).text).toMatch(/^alice/)
    expect(tokenRequests(vault.as, 'refresh_token').length).toBeGreaterThan(0)
    expect(visits(vault.as)).toHaveLength(1)
  })

  it('cannot be combined with a way to ask the user', () => {
    const authorize = async (page: URL) => page
    expect(() => oauth({ interactive: false, authorize, redirectUrl })).toThrow(/interactive/)
    expect(() => oauth({ authorize })).toThrow(/redirectUrl/)
  })
})

describe('failed logins', () => {
  it.each(['2025-03-26', '2025-11-25', '2026-07-28'] as const)(
    'rejects connect() with the authorization error and its trace (%s)',
    async (revision) => {
      await using vault = await protectedServer()
      vault.as.faults.authorizationError = 'access_denied'
      const auth = oauth({ redirectUrl, authorize: followRedirect })
      const error = await errorOf(connect(vault.url, { revision, auth }))
      expect(error).toBeInstanceOf(AuthError)
      expect(error).toMatchObject({ code: 'auth', message: expect.stringContaining('access_denied') })
      expect(String((error as AuthError).trace)).toMatch(/resource metadata.*registration/s)
    },
  )

  it('rejects the transports with the authorization error', async () => {
    await using vault = await protectedServer()
    const auth = oauth({ interactive: false })
    for (const Transport of [StreamableHTTPClientTransport, SSEClientTransport]) {
      const transport = new Transport(vault.url, { auth })
      const work = transport
        .start()
        .then(() => transport.send({ jsonrpc: '2.0', method: 'notifications/initialized' }))
        .finally(() => transport.close())
      expect(await errorOf(work)).toBeInstanceOf(AuthError)
    }
  })

  it('rejects a call when its token expired and cannot be renewed', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    await using client = await join(gate, user.auth())
    gate.judge = () => gate.refusal
    expect(await errorOf(client.callTool('ping'))).toBeInstanceOf(AuthError)
  })

  it.each([
    ['a user who is too slow', new TimeoutError('Nobody came back', 5), /Nobody came back/],
    ['an application that gives up', new Error('The window was closed'), /The window was closed/],
  ])('names the reason when a login fails because of %s', async (_, reason, said) => {
    await using vault = await protectedServer()
    const authorize = async () => Promise.reject(reason)
    const error = await errorOf(connect(vault.url, { auth: oauth({ redirectUrl, authorize }) }))
    expect(error).toBeInstanceOf(AuthError)
    expect((error as AuthError).message).toMatch(said)
    expect(String((error as AuthError).trace)).toMatch(said)
  })

  it('reports a plain 401 when no auth was given', async () => {
    await using vault = await protectedServer()
    expect(await errorOf(connect(vault.url))).toBeInstanceOf(HttpError)
  })

  it('shows nothing of a response that could not be parsed', async () => {
    await using vault = await protectedServer()
    const authorize = async () => 'app.example/back?code=c0de-of-the-user'
    const error = await errorOf(connect(vault.url, { auth: oauth({ redirectUrl, authorize }) }))
    expect(error).toBeInstanceOf(AuthError)
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('c0de-of-the-user')
  })
})

describe('token stores that fail', () => {
  it('reports the store’s message without any token', async () => {
    await using vault = await protectedServer()
    const seen: string[] = []
    class Full extends MemoryTokenStore {
      override async set(key: string, value: string): Promise<void> {
        if (!key.startsWith('tokens')) return super.set(key, value)
        seen.push(JSON.parse(value).accessToken)
        throw Object.assign(new Error('The disk is full'), { code: 'ENOSPC', written: value })
      }
    }
    const auth = oauth({ redirectUrl, authorize: followRedirect, store: new Full() })
    const error = await errorOf(connect(vault.url, { revision: '2025-11-25', auth }))
    expect(error).toMatchObject({ code: 'auth', message: expect.stringContaining('The disk is full') })
    expect((error as AuthError).cause).toMatchObject({ code: 'ENOSPC' })
    expect(seen).toHaveLength(1)
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(seen[0])
  })
})

/** Keeps everything, and fails where the test wants it: with all that it knows attached, as database drivers do. */
class Careless implements OAuthClientProvider {
  readonly redirectUrl: string | undefined = redirectUrl
  readonly clientMetadata = { redirect_uris: [redirectUrl] }
  readonly seen: string[] = []
  page: URL | undefined
  client: ProviderClientInformation | undefined
  verifier = ''
  readonly #failing: string

  constructor(failing: string) {
    this.#failing = failing
  }

  clientInformation() {
    this.#do('clientInformation', this.client?.client_secret)
    return this.client
  }
  saveClientInformation(information: ProviderClientInformation) {
    this.client = { ...information, client_secret: 'secret-of-the-client' }
    this.#do('saveClientInformation', this.client.client_secret)
  }
  tokens() {
    this.#do('tokens', 'token-of-the-user')
    return undefined
  }
  saveTokens({ access_token, refresh_token }: ProviderTokens) {
    this.#do('saveTokens', access_token, refresh_token)
  }
  redirectToAuthorization(page: URL) {
    this.page = page
    this.#do('redirectToAuthorization', page.searchParams.get('state') ?? undefined)
  }
  saveCodeVerifier(verifier: string) {
    this.verifier = verifier
    this.#do('saveCodeVerifier', verifier)
  }
  codeVerifier() {
    this.#do('codeVerifier', this.verifier)
    return this.verifier
  }
  addClientAuthentication(headers: Headers, params: URLSearchParams) {
    params.set('client_id', this.client!.client_id)
    this.#do('addClientAuthentication', params.get('code') ?? undefined, headers.get('authorization') ?? undefined)
  }

  #do(what: string, ...secrets: (string | undefined)[]): void {
    if (what !== this.#failing) return
    const given = secrets.filter((secret) => secret !== undefined)
    this.seen.push(...given)
    const cause = Object.assign(new Error('no connection'), { query: given })
    throw Object.assign(new Error(`${what} failed`, { cause }), { code: 'EDISK', parameters: given, config: { given } })
  }
}

describe('providers that fail', () => {
  it.each([
    'tokens',
    'clientInformation',
    'saveClientInformation',
    'saveCodeVerifier',
    'redirectToAuthorization',
    'codeVerifier',
    'addClientAuthentication',
    'saveTokens',
  ])('reports the message of a failing %s without the values it was given', async (failing) => {
    await using vault = await protectedServer({ refreshTokens: 'always' })
    const provider = new Careless(failing)
    const auth = withProvider(provider)
    let error = await errorOf(connect(vault.url, { auth }))
    if (auth.waiting && provider.seen.length === 0) {
      error = await errorOf(auth.finishAuth(await followRedirect(provider.page!)))
    }
    expect(error).toBeInstanceOf(AuthError)
    expect((error as AuthError).message).toContain(`${failing} failed`)
    expect((error as AuthError).cause).toMatchObject({ code: 'EDISK' })
    const shown = `${inspect(error, { depth: 9, showHidden: true })} ${(error as AuthError).trace}`
    if (failing !== 'clientInformation') expect(provider.seen.length).toBeGreaterThan(0)
    for (const secret of provider.seen) expect(shown).not.toContain(secret)
  })
})

describe('oauth() without a browser', () => {
  /** A system with this program to open pages, and with or without a screen. */
  function system(opener: string | undefined, screen: Record<string, string | undefined> = {}) {
    const folder = mkdtempSync(joinPath(tmpdir(), 'headless-'))
    if (opener !== undefined) writeFileSync(joinPath(folder, 'xdg-open'), `#!/bin/sh\n${opener}\n`, { mode: 0o755 })
    vi.stubEnv('PATH', folder)
    for (const name of ['DISPLAY', 'WAYLAND_DISPLAY', 'BROWSER']) vi.stubEnv(name, screen[name])
    const platform = vi.spyOn(process, 'platform', 'get').mockReturnValue('linux')
    const shown = vi.spyOn(console, 'error').mockImplementation(() => {})
    const wrote = vi.spyOn(process.stdout, 'write')
    onTestFinished(() => {
      vi.unstubAllEnvs()
      for (const spy of [platform, shown, wrote]) spy.mockRestore()
      rmSync(folder, { recursive: true })
    })
    return { shown: () => shown.mock.calls.flat().join('\n'), wrote }
  }

  it.each([
    ['there is no opener', undefined, { DISPLAY: ':0' }],
    ['the opener fails', 'exit 3', { WAYLAND_DISPLAY: 'wayland-0' }],
    ['there is no display, whatever the opener says', 'exit 0', {}],
  ])('prints the URL to stderr and waits for the login: %s', async (_, opener, screen) => {
    await using vault = await protectedServer()
    const { shown, wrote } = system(opener, screen)
    const connecting = connect(vault.url, { auth: oauth() })
    await vi.waitFor(() => expect(shown()).toContain('To log in, open this URL'), { timeout: 9_000 })
    expect(wrote).not.toHaveBeenCalled()
    const [page] = /^ {2}(http\S+)$/m.exec(shown())!.slice(1)
    // A person opens it, and is sent back to this machine.
    expect((await fetch(page!)).status).toBe(200)
    await using client = await connecting
    expect((await client.callTool('whoami')).text).toContain('alice')
  })

  it.each([{ DISPLAY: ':0' }, { WAYLAND_DISPLAY: 'wayland-0' }, { BROWSER: 'remote-helper' }])(
    'prints nothing when the browser was opened: %j',
    async (screen) => {
      await using vault = await protectedServer()
      const { shown } = system(`exec ${process.execPath} -e 'fetch(process.argv[1])' "$1"`, screen)
      await using client = await connect(vault.url, { auth: oauth() })
      expect((await client.callTool('whoami')).text).toContain('alice')
      expect(shown()).toBe('')
    },
  )
})
