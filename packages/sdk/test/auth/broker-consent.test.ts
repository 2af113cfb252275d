import { broker, MemoryValueStore } from 'tenon/auth/server'
import { describe, expect, it, vi } from 'vitest'
import { type Binding, BrowserCookie } from '../../src/auth/broker/browser-cookie.ts'
import { Sealer } from '../../src/util/sealer.ts'
import { Browser, formIn, Place, redirectUri, type Shown, scopes, secret, textOf } from './broker-support.ts'

const allowed = (shown: Shown) => shown.url.searchParams.get('code')

/** What comes back without following any redirect. */
async function post(place: Place, form: string, headers: Record<string, string>, decision = 'allow') {
  const response = await fetch(`${place.origin}/authorize/consent`, {
    method: 'POST',
    body: new URLSearchParams({ form, decision }),
    redirect: 'manual',
    headers,
  })
  return { status: response.status, location: response.headers.get('location'), html: await response.text() }
}

function cookieOf(browser: Browser): string {
  return [...browser.cookies].map(([key, value]) => `${key.split(' ')[1]}=${value}`).join('; ')
}

describe('the consent page', () => {
  it('shows the client, its permissions and the exact redirect target [AUTH-054, AUTH-102, SEC-007]', async () => {
    await using place = await Place.start({ broker: { resourceName: 'My Notes' } })
    const { client_id } = await place.register({ redirect_uris: ['https://app.example/cb?x=1'] })
    const params = { redirect_uri: 'https://app.example/cb?x=1', scope: 'notes:write notes:read' }
    const text = textOf(await new Browser().open(place.page(client_id, params)))
    expect(text).toContain('Allow Agent to use My Notes?')
    expect(text).toContain('The name was chosen by the application itself and is not verified.')
    expect(text).toContain('Change your notes notes:write Read your notes notes:read')
    expect(text).toContain('app.example https://app.example/cb?x=1')
    expect(text).toContain('sign in with Example ID')
    expect(text).not.toContain('Any program on this computer')
  })

  it.each([
    ['http://127.0.0.1:7/cb', true],
    ['http://localhost:7/cb', true],
    ['https://localhost/cb', true],
    ['com.example.app:/cb', true],
    ['https://app.example/cb', false],
  ])(
    'with the redirect URI %s, warns that any program on this computer could be the client: %s [AUTH-053]',
    async (uri, warns) => {
      await using place = await Place.start({ broker: { redirectSchemes: ['com.example.app'] } })
      const all = [
        'http://127.0.0.1:7/cb',
        'http://localhost:7/cb',
        'https://localhost/cb',
        'com.example.app:/cb',
        'https://app.example/cb',
      ]
      const { client_id } = await place.register({ redirect_uris: all })
      const text = textOf(await new Browser().open(place.page(client_id, { redirect_uri: uri })))
      expect(text.includes('Any program on this computer could claim to be this application.')).toBe(warns)
    },
  )

  it('has no script, no inline code and no frame, and is not cached [SEC-007]', async () => {
    await using place = await Place.start()
    const { client_id } = await place.register()
    const { headers, html } = await new Browser().open(place.page(client_id))
    expect(headers.get('content-security-policy')).toBe(
      `default-src 'none'; style-src 'self'; form-action 'self' https: ${place.as.issuer} http://127.0.0.1:7; frame-ancestors 'none'; base-uri 'none'`,
    )
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(html).not.toMatch(/<script|<style|style=|\son\w+=/i)
    const [, sheet] = /<link rel="stylesheet" href="([^"]+)"/.exec(html)!
    const style = await fetch(new URL(sheet!, place.origin))
    expect([style.status, style.headers.get('content-type')]).toEqual([200, 'text/css; charset=utf-8'])
    expect(await style.text()).toContain('prefers-color-scheme: dark')
  })

  it('allows redirects to every kind of client after the form', async () => {
    await using place = await Place.start({ broker: { redirectSchemes: ['com.example.app'] } })
    const policyFor = async (uri: string) => {
      const { client_id } = await place.register({ redirect_uris: [uri] })
      const { headers } = await new Browser().open(place.page(client_id, { redirect_uri: uri }))
      return /form-action ([^;]*)/.exec(headers.get('content-security-policy')!)![1]
    }
    const provider = place.as.issuer
    expect(await policyFor('https://app.example/cb')).toBe(`'self' https: ${provider}`)
    expect(await policyFor('http://localhost:3000/cb')).toBe(`'self' https: ${provider} http://localhost:3000`)
    expect(await policyFor('http://[::1]:3000/cb')).toBe(`'self' https: ${provider} http:`)
    expect(await policyFor('com.example.app:/cb')).toBe(`'self' https: ${provider} com.example.app:`)
  })

  it('escapes text of a client and shows its invisible characters', async () => {
    await using place = await Place.start()
    const { client_id } = await place.register({
      client_name: `<img src=x onerror=alert(1)>"'&\u202eevil\u200b\u0007`,
      redirect_uris: ["https://app.example/cb?a='&b=1"],
    })
    const { html } = await new Browser().open(place.page(client_id, { redirect_uri: undefined, state: '"><script>' }))
    expect(html).toContain(
      '&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;&lt;U+202E&gt;evil&lt;U+200B&gt;&lt;U+0007&gt;',
    )
    expect(html).toContain('<code>https://app.example/cb?a=&#39;&amp;b=1</code>')
    expect(html).not.toMatch(/<img|<script|[\p{Cf}]/u)
    expect(html).not.toContain('\u0007')
  })

  it('asks for consent each time (GHSA-6x8h-498w-gv8c) [AUTH-102]', async () => {
    await using place = await Place.start()
    const { client_id } = await place.register()
    const browser = new Browser()
    expect((await browser.agree(place.page(client_id))).searchParams.get('code')).not.toBe(null)
    // The same client again, and another one, with whatever cookies the browser has.
    for (const id of [client_id, (await place.register({ client_name: 'Other' })).client_id]) {
      const before = place.as.requests.length
      const page = await browser.open(place.page(id))
      expect([page.status, page.html.includes('value="allow"')]).toEqual([200, true])
      expect(place.as.requests.length).toBe(before)
    }
  })

  it('redirects to the client with an error when the user denies, without visiting the provider', async () => {
    await using place = await Place.start()
    const { client_id } = await place.register()
    const browser = new Browser()
    const before = place.as.requests.length
    const { url } = await browser.answer(await browser.open(place.page(client_id)), 'deny')
    expect(Object.fromEntries(url.searchParams)).toEqual({
      error: 'access_denied',
      error_description: 'The user denied access.',
      state: 'client-state',
      iss: place.origin,
    })
    expect(place.as.requests.length).toBe(before)
    expect(browser.cookies.size).toBe(0)
  })

  it('accepts only one answer, however slow the store is', async () => {
    const memory = new MemoryValueStore()
    const pause = () => new Promise((resolve) => setTimeout(resolve, 20))
    const store = {
      get: (key: string) => pause().then(() => memory.get(key)),
      set: (key: string, value: string, ttlMs: number) => pause().then(() => memory.set(key, value, ttlMs)),
      take: (key: string) => memory.take(key),
      delete: (key: string) => memory.delete(key),
    }
    await using place = await Place.start({ broker: { store } })
    const { client_id } = await place.register()
    const browser = new Browser()
    const page = await browser.open(place.page(client_id))
    const headers = { cookie: cookieOf(browser), 'sec-fetch-site': 'same-origin' }
    const answers = await Promise.all([1, 2, 3].map(() => post(place, formIn(page), headers)))
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 400, 400])
    expect((await post(place, formIn(page), headers)).html).toContain('has already been sent')
    // Nor does another process take it.
    const { upstream } = place
    const other = broker({ resource: place.url, upstream, scopes, secrets: [secret], store })
    const body = new URLSearchParams({ form: formIn(page), decision: 'allow' })
    const request = new Request(`${place.origin}/authorize/consent`, { method: 'POST', body, headers })
    expect((await other.fetch(request)).status).toBe(400)
  })

  it('waits ten minutes for the answer', async () => {
    await using place = await Place.start()
    const { client_id } = await place.register()
    const browser = new Browser()
    const page = await browser.open(place.page(client_id))
    const later = Date.now() + 600_001
    vi.spyOn(Date, 'now').mockImplementation(() => later)
    const shown = await browser.answer(page, 'allow')
    vi.restoreAllMocks()
    expect([shown.status, textOf(shown)]).toEqual([400, expect.stringContaining('This page has expired.')])
    expect((await browser.answer(page, 'allow')).url.searchParams.get('code')).not.toBe(null)
  })

  it('refuses an answer from another page, another browser or another request [SEC-007]', async () => {
    await using place = await Place.start()
    const { client_id } = await place.register()
    const other = await place.register({ client_name: 'Other' })
    const browser = new Browser()
    const page = await browser.open(place.page(client_id))
    const form = formIn(page)
    const cookie = cookieOf(browser)
    const fromHere = { 'sec-fetch-site': 'same-origin' }
    const statusOf = async (...given: Parameters<typeof post>) => (await post(...given)).status
    expect(await statusOf(place, form, { cookie, 'sec-fetch-site': 'cross-site' })).toBe(403)
    expect(await statusOf(place, form, { cookie, 'sec-fetch-site': 'same-site' })).toBe(403)
    expect(await statusOf(place, form, { cookie, ...fromHere, origin: 'https://evil.example' })).toBe(403)
    expect(await statusOf(place, form, { cookie, origin: 'https://evil.example' })).toBe(403)
    expect(await statusOf(place, form, { cookie, origin: 'null' })).toBe(403)
    expect(await statusOf(place, form, fromHere)).toBe(400)
    const stranger = new Browser()
    const otherForm = formIn(await stranger.open(place.page(other.client_id)))
    expect(await statusOf(place, form, { ...fromHere, cookie: cookieOf(stranger) })).toBe(400)
    expect(await statusOf(place, otherForm, { ...fromHere, cookie })).toBe(400)
    expect(await statusOf(place, `${form}A`, { ...fromHere, cookie })).toBe(400)
    expect(await statusOf(place, client_id, { ...fromHere, cookie })).toBe(400)
    // None of that has used it up.
    expect(await statusOf(place, form, { ...fromHere, cookie })).toBe(303)
  })

  it('works in several tabs at once', async () => {
    await using place = await Place.start()
    const { client_id } = await place.register()
    const browser = new Browser()
    let [one, two]: (Shown | undefined)[] = []
    // Cookies have a few names only, so that two tabs can meet by chance.
    while (new Set(browser.cookies.keys()).size < 2) {
      one = two
      two = await browser.open(place.page(client_id))
    }
    expect(allowed(await browser.answer(one!, 'allow'))).not.toBe(null)
    expect(allowed(await browser.answer(two!, 'allow'))).not.toBe(null)
    for (let tab = 0; tab < 30; tab++) await browser.open(place.page(client_id))
    expect(browser.cookies.size).toBeLessThanOrEqual(8)
  })

  it('binds the browser with a sealed __Host- cookie for this client [SEC-008]', async () => {
    await using place = await Place.start({
      broker: { resource: 'https://mcp.example.com/mcp' },
      http: { allowedHosts: ['mcp.example.com', '127.0.0.1'] },
    })
    const { client_id } = await place.register()
    const browser = new Browser()
    await browser.open(place.page(client_id, { resource: undefined }))
    expect(browser.setCookies).toHaveLength(1)
    expect(browser.setCookies[0]).toMatch(
      /^__Host-tenon-login-\d=[\w-]{100,400}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
    )
  })

  describe('the consent cookie', () => {
    const sealer = new Sealer(['k'.repeat(32)])
    const cookies = new BrowserCookie(sealer, 'https://mcp.example.com', 600)
    const binding = { id: 'login', slot: 3, key: 'step', client: 'hash of the client id' }

    async function accepts(sealed: Binding, { by = cookies, change = (cookie: string) => cookie } = {}) {
      const cookie = change((await by.set(sealed))['set-cookie']!.split(';')[0]!)
      const header = (name: string) => (name === 'cookie' ? cookie : undefined)
      return cookies.matches({ method: 'POST', url: '/authorize/consent', header, body: '' }, binding)
    }

    it('does not accept the cookie of another client, step or login [SEC-019]', async () => {
      expect(await accepts(binding)).toBe(true)
      expect(await accepts({ ...binding, client: 'hash of another client id' })).toBe(false)
      expect(await accepts({ ...binding, key: 'another step' })).toBe(false)
      expect(await accepts({ ...binding, id: 'another login' })).toBe(false)
      expect(await accepts({ ...binding, slot: 4 })).toBe(false)
    })

    it('does not accept a cookie that was modified, forged or sealed by another server [SEC-018]', async () => {
      const otherIssuer = new BrowserCookie(sealer, 'https://other.example.com', 600)
      const otherKey = new BrowserCookie(new Sealer(), 'https://mcp.example.com', 600)
      expect(await accepts(binding, { by: otherIssuer })).toBe(false)
      expect(await accepts(binding, { by: otherKey })).toBe(false)
      const plain = btoa(JSON.stringify(binding)).replaceAll('=', '')
      for (const change of [
        (cookie: string) => cookie.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
        (cookie: string) => cookie.slice(0, -4),
        (cookie: string) => `${cookie.split('=')[0]}=${plain}`,
        (cookie: string) => `${cookie.split('=')[0]}=`,
      ]) {
        expect(await accepts(binding, { change })).toBe(false)
      }
    })
  })

  it('omits __Host- and Secure on plain http on this machine, where browsers reject them', async () => {
    await using place = await Place.start()
    const { client_id } = await place.register()
    const browser = new Browser()
    await browser.open(place.page(client_id))
    expect(browser.setCookies[0]).toMatch(/^tenon-login-\d=[\w-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/)
  })

  it('limits pending logins, and stores nothing for visitors who only look', async () => {
    const kept: string[] = []
    const store = {
      get: () => undefined,
      take: () => undefined,
      delete: () => {},
      set: (key: string) => void kept.push(key),
    }
    await using place = await Place.start({ broker: { store, maxPending: 2 } })
    const { client_id } = await place.register()
    const statuses: number[] = []
    for (let person = 0; person < 3; person++) {
      const browser = new Browser()
      const page = await browser.open(place.page(client_id))
      expect(kept.length).toBe(person * 2)
      const headers = { cookie: cookieOf(browser), 'sec-fetch-site': 'same-origin' }
      statuses.push((await post(place, formIn(page), headers)).status)
    }
    expect(statuses).toEqual([303, 303, 503])
    expect(kept.length).toBe(4)
  })
})

describe('the callback from the provider', () => {
  /** Up to the page of the provider, and where that leads back to. */
  async function toProvider(place: Place, browser: Browser, params: Record<string, string> = {}) {
    const { client_id } = await place.register()
    const page = await browser.open(place.page(client_id, params))
    const headers = { cookie: cookieOf(browser), 'sec-fetch-site': 'same-origin' }
    const response = await fetch(`${place.origin}/authorize/consent`, {
      method: 'POST',
      body: new URLSearchParams({ form: formIn(page), decision: 'allow' }),
      redirect: 'manual',
      headers,
    })
    const cookie = response.headers.get('set-cookie')!.split(';')[0]!
    const provider = new URL(response.headers.get('location')!)
    const back = new URL((await fetch(provider, { redirect: 'manual' })).headers.get('location')!)
    return { client_id, provider, back, cookie }
  }

  async function comeBack(back: URL, cookie?: string) {
    const response = await fetch(back, { redirect: 'manual', headers: cookie === undefined ? {} : { cookie } })
    return { status: response.status, location: response.headers.get('location'), html: await response.text() }
  }

  it('CVE-2026-27124: refuses the callback in a browser other than the one that consented [SEC-010]', async () => {
    await using place = await Place.start()
    const attacker = new Browser()
    const { back, cookie } = await toProvider(place, attacker)
    const before = place.tokenRequests('authorization_code').length
    const victim = await comeBack(back)
    expect([victim.status, victim.location]).toEqual([400, null])
    expect(victim.html).toContain('started in another browser')
    // Nor does a login of the victim's own help, nor the attacker's return later.
    const own = new Browser()
    const { cookie: otherCookie } = await toProvider(place, own)
    const { back: another } = await toProvider(place, attacker)
    expect((await comeBack(another, otherCookie)).status).toBe(400)
    expect((await comeBack(back, cookie)).status).toBe(400)
    expect(place.tokenRequests('authorization_code').length).toBe(before)
  })

  it('refuses the callback with the cookie of the consent page', async () => {
    await using place = await Place.start()
    const browser = new Browser()
    const { back } = await toProvider(place, browser)
    expect((await comeBack(back, cookieOf(browser))).status).toBe(400)
  })

  it('creates the state only after consent and accepts it once [SEC-010]', async () => {
    await using place = await Place.start()
    const { back, cookie, provider } = await toProvider(place, new Browser())
    const state = provider.searchParams.get('state')!
    expect(state).toMatch(/^[\w-]{43}$/)
    expect(state).not.toContain('client-state')
    const answers = await Promise.all([1, 2, 3].map(() => comeBack(back, cookie)))
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 400, 400])
    for (const wrong of [null, '', 'x', state.toLowerCase()]) {
      const other = new URL(back)
      if (wrong === null) other.searchParams.delete('state')
      else other.searchParams.set('state', wrong)
      expect((await comeBack(other, cookie)).status).toBe(400)
    }
  })

  it('accepts a callback for ten minutes [SEC-010]', async () => {
    let now = Date.now()
    await using place = await Place.start({ broker: { store: new MemoryValueStore({ now: () => now }) } })
    const { back, cookie } = await toProvider(place, new Browser())
    now += 600_001
    expect((await comeBack(back, cookie)).status).toBe(400)
  })

  it('redirects to the client with a code, its state and our iss [AUTH-087]', async () => {
    await using place = await Place.start()
    const { back, cookie } = await toProvider(place, new Browser())
    const { location } = await comeBack(back, cookie)
    const url = new URL(location!)
    expect(url.origin + url.pathname).toBe(redirectUri)
    expect([...url.searchParams.keys()]).toEqual(['code', 'state', 'iss'])
    expect([url.searchParams.get('state'), url.searchParams.get('iss')]).toEqual(['client-state', place.origin])
  })

  it('refuses a callback with a wrong iss, and uses nothing of it', async () => {
    await using place = await Place.start()
    for (const iss of ['https://evil.example', '', `${place.as.issuer}/`, null]) {
      const { back, cookie } = await toProvider(place, new Browser())
      if (iss === null) back.searchParams.delete('iss')
      else back.searchParams.set('iss', iss)
      const answer = await comeBack(back, cookie)
      expect([iss, answer.status, answer.location]).toEqual([iss, 502, null])
    }
    expect(place.tokenRequests('authorization_code')).toEqual([])
    await using silent = await Place.start({ upstream: { issParameter: false } })
    for (const iss of ['https://evil.example', '']) {
      const { back, cookie } = await toProvider(silent, new Browser())
      back.searchParams.set('iss', iss)
      expect((await comeBack(back, cookie)).status).toBe(502)
    }
    const { back, cookie } = await toProvider(silent, new Browser())
    expect((await comeBack(back, cookie)).status).toBe(303)
  })

  it('tells the client when the user denied access at the provider', async () => {
    await using place = await Place.start()
    place.as.faults.authorizationError = 'access_denied'
    const { back, cookie } = await toProvider(place, new Browser())
    const { location } = await comeBack(back, cookie)
    expect(new URL(location!).searchParams.get('error')).toBe('access_denied')
  })

  it('CVE-2025-62800: shows no text that the provider or an impostor wrote', async () => {
    await using place = await Place.start()
    const evil = '"><script>alert(1)</script>'
    const { back, cookie } = await toProvider(place, new Browser())
    const answer = new URL(back)
    answer.searchParams.delete('code')
    answer.searchParams.set('error', `x${evil}`)
    answer.searchParams.set('error_description', evil)
    const refused = await comeBack(answer, cookie)
    expect(refused.status).toBe(502)
    expect(refused.html).toContain('Sign-in with Example ID failed.')
    expect(refused.html).toContain(`error=server_error`)
    const unknown = new URL(back)
    for (const [name] of back.searchParams) unknown.searchParams.set(name, evil)
    const reflected = await comeBack(unknown)
    expect(reflected.status).toBe(400)
    const badPage = new URL('/authorize', place.origin)
    for (const name of ['client_id', 'redirect_uri', 'state', 'scope']) badPage.searchParams.set(name, evil)
    const page = await comeBack(badPage)
    expect(page.status).toBe(400)
    for (const { html } of [refused, reflected, page]) expect(html).not.toContain('<script')
  })

  it('shows an error page when the provider returns no token, or a wrong nonce [AUTH-025]', async () => {
    await using place = await Place.start()
    const wrong = await place.as.signJwt({ sub: 'mallory', aud: 'the-one', nonce: 'another' })
    const foreign = await place.as.signJwt({ sub: 'mallory', aud: 'somebody-else' })
    for (const fault of [
      'server-error',
      'html',
      'reset',
      { status: 400, body: { error: 'invalid_grant', error_description: '<b>secret-detail</b>' } },
      { patch: { id_token: wrong } },
      { patch: { id_token: foreign } },
      { patch: { id_token: undefined } },
    ] as const) {
      const { back, cookie } = await toProvider(place, new Browser())
      place.as.faults.next('token', fault)
      const answer = await comeBack(back, cookie)
      expect([answer.status, answer.location]).toEqual([502, null])
      expect(answer.html).not.toContain('secret-detail')
    }
    expect(place.errors.length).toBe(7)
    for (const error of place.errors) expect(error.message).not.toMatch(/the-secret|eyJ/)
  })

  it('shows an error page when the provider is unreachable, and retries next time', async () => {
    await using place = await Place.start()
    const { client_id } = await place.register()
    place.as.faults.next('metadata', 'server-error')
    const browser = new Browser()
    const shown = await browser.answer(await browser.open(place.page(client_id)), 'allow')
    expect(shown.status).toBe(502)
    expect((await browser.agree(place.page(client_id))).searchParams.get('code')).not.toBe(null)
  })

  it('does not treat a HEAD request as a callback', async () => {
    await using place = await Place.start()
    const { back, cookie } = await toProvider(place, new Browser())
    expect((await fetch(back, { method: 'HEAD', redirect: 'manual', headers: { cookie } })).status).toBe(405)
    expect((await comeBack(back, cookie)).status).toBe(303)
  })
})
