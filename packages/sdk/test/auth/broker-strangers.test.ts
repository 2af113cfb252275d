import { MemoryValueStore } from 'tenon/auth/server'
import { describe, expect, it, vi } from 'vitest'
import { EncryptedStore } from '../../src/auth/broker/encrypted-store.ts'
import { Sealer } from '../../src/util/sealer.ts'
import { Browser, formIn, Place, redirectUri, type Shown, textOf, wayBackOn } from './broker-support.ts'

/** A browser at an address of its own. */
class Visitor {
  readonly #place: Place
  readonly #peer: string | undefined

  constructor(place: Place, peer?: string) {
    this.#place = place
    this.#peer = peer
  }

  /** Looks at the consent page and answers it. */
  async decide(clientId: string, decision: 'allow' | 'deny') {
    const page = await this.#ask('GET', this.#place.page(clientId))
    const cookie = page.headers['set-cookie']!.split(';')[0]!
    const body = new URLSearchParams({ form: formIn({ html: page.body } as Shown), decision }).toString()
    const again = () => this.#ask('POST', new URL('/authorize/consent', this.#place.origin), { cookie }, body)
    const answer = await again()
    return { ...answer, cookie: answer.headers['set-cookie']?.split(';')[0], again }
  }

  /** Comes back from the provider that a consent led to. */
  async comeBack({ headers, cookie }: { headers: Readonly<Record<string, string>>; cookie: string | undefined }) {
    const back = (await fetch(headers.location!, { redirect: 'manual' })).headers.get('location')!
    return this.#ask('GET', new URL(back), { cookie: cookie! })
  }

  async #ask(method: string, url: URL, headers: Record<string, string> = {}, body = '') {
    const all: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded', ...headers }
    const header = (name: string) => all[name]
    const target = url.pathname + url.search
    const answer = await this.#place.auth.routes.respond({ method, url: target, header, body, peer: this.#peer })
    return answer!
  }
}

describe('unauthenticated visitors of a broker', () => {
  it('refuses a long state', async () => {
    await using place = await Place.start()
    const { client_id } = await place.register()
    const opened = (state: string) => new Browser().open(place.page(client_id, { state }))
    expect((await opened('s'.repeat(2_048))).status).toBe(200)
    const refused = await opened('s'.repeat(2_049))
    expect([refused.status, textOf(refused)]).toEqual([400, expect.stringContaining('state is longer than 2048 bytes')])
  })

  it('does not evict issued tokens because of pending logins', async () => {
    const small = () => new MemoryValueStore({ maxValues: 3 })
    const vault = new EncryptedStore(small(), new Sealer(), small())
    await vault.set('grant', 'x', 'a login', 60_000)
    for (let visit = 0; visit < 10; visit++) {
      await vault.set('login', String(visit), 'on the way', 60_000)
      await vault.set('form', String(visit), true, 60_000)
    }
    expect(await vault.get('grant', 'x')).toBe('a login')
    expect(await vault.take('login', '9')).toBe('on the way')
    expect(await vault.get('login', '0')).toBe(undefined)
  })

  it('does not let denials, second answers or returns take the place of others', async () => {
    await using place = await Place.start({ broker: { maxPending: 2 } })
    const { client_id } = await place.register()
    const visitor = new Visitor(place)
    for (let visit = 0; visit < 5; visit++) expect((await visitor.decide(client_id, 'deny')).status).toBe(303)
    const first = await visitor.decide(client_id, 'allow')
    for (let again = 0; again < 5; again++) expect((await first.again()).status).toBe(400)
    for (let visit = 0; visit < 5; visit++) {
      const { headers } = await visitor.comeBack(await visitor.decide(client_id, 'allow'))
      expect(new URL(headers.location!).searchParams.get('code')).not.toBe(null)
    }
    const second = await visitor.decide(client_id, 'allow')
    const third = await visitor.decide(client_id, 'allow')
    expect([first.status, second.status, third.status]).toEqual([303, 303, 503])
    expect(third.headers['retry-after']).toBe('60')
    expect(third.headers['content-type']).toBe('text/html; charset=utf-8')
  })

  it('does not count visitors while the provider is unreachable, and accepts their answer later', async () => {
    await using place = await Place.start({ broker: { maxPending: 1 } })
    const { client_id } = await place.register()
    place.as.faults.next('metadata', 'server-error')
    const visit = await new Visitor(place).decide(client_id, 'allow')
    expect(visit.status).toBe(502)
    expect((await visit.again()).status).toBe(303)
  })

  it('evicts visitors of the busiest address first', async () => {
    await using place = await Place.start({ broker: { maxPending: 3 } })
    const { client_id } = await place.register()
    const greedy = new Visitor(place, '192.0.2.1')
    const visits = []
    for (let visit = 0; visit < 3; visit++) visits.push(await greedy.decide(client_id, 'allow'))
    expect((await greedy.decide(client_id, 'allow')).status).toBe(503)
    const other = new Visitor(place, '192.0.2.2')
    const honest = await other.decide(client_id, 'allow')
    expect(honest.status).toBe(303)
    // It is the oldest one that went.
    expect((await greedy.comeBack(visits[0]!)).status).toBe(400)
    expect((await greedy.comeBack(visits[1]!)).status).toBe(303)
    expect((await other.comeBack(honest)).status).toBe(303)
  })

  it('counts IPv6 visitors by network', async () => {
    await using place = await Place.start({ broker: { maxPending: 3 } })
    const { client_id } = await place.register()
    const from = async (peer: string) => (await new Visitor(place, peer).decide(client_id, 'allow')).status
    expect(await from('2001:db8::1')).toBe(303)
    expect(await from('2001:db8:0:0:1::2')).toBe(303)
    expect(await from('2001:db8::3:4')).toBe(303)
    expect(await from('2001:db8::4')).toBe(503)
    expect(await from('::ffff:192.0.2.2')).toBe(303)
  })
})

describe('text written by unauthenticated visitors', () => {
  it('writes no line break or terminal control character of a visitor to the log', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    await using place = await Place.start({ broker: { onError: undefined } })
    const { client_id } = await place.register()
    const visitor = new Visitor(place)
    place.as.faults.redirect = { code: null, error: 'x', error_description: '\u001b[31m\r\n[tenon] all is well' }
    expect((await visitor.comeBack(await visitor.decide(client_id, 'allow'))).status).toBe(502)
    expect(log).toHaveBeenCalledOnce()
    expect(log.mock.calls.flat().join(' ')).toContain('all is well')
    expect(log.mock.calls.flat().join(' ')).not.toMatch(/\p{Cc}/u)
    log.mockRestore()
  })
})

describe('authorization requests of an unverified client', () => {
  it('never redirects before the user decided, and links back after an error [AUTH-092]', async () => {
    await using place = await Place.start()
    const uri = { redirect_uri: 'https://stranger.example/cb?x=%22' }
    const { client_id } = await place.register({ redirect_uris: [uri.redirect_uri] })
    for (const wrong of [{ scope: 'admin' }, { response_type: 'token' }, { code_challenge: undefined }]) {
      const response = await fetch(place.page(client_id, { ...uri, ...wrong }), { redirect: 'manual' })
      expect([response.status, response.headers.get('location')]).toEqual([400, null])
      const html = await response.text()
      expect(html).toContain('<strong>stranger.example</strong>')
      const link = wayBackOn({ html } as Shown)
      expect(link.host).toBe('stranger.example')
      expect(link.searchParams.get('error')).toMatch(/^(invalid|unsupported)_/)
      expect([link.searchParams.get('state'), link.searchParams.get('iss')]).toEqual(['client-state', place.origin])
    }
    // What the user decides is sent there at once.
    const browser = new Browser()
    const page = await browser.open(place.page(client_id, uri))
    const [cookie] = browser.setCookies[0]!.split(';')
    const body = new URLSearchParams({ form: formIn(page), decision: 'deny' })
    const headers = { cookie: cookie! }
    const denied = await fetch(`${place.origin}/authorize/consent`, {
      method: 'POST',
      body,
      headers,
      redirect: 'manual',
    })
    expect(denied.headers.get('location')).toMatch(/^https:\/\/stranger\.example\/cb\?/)
  })

  it('shows an error page for a port out of range', async () => {
    await using place = await Place.start()
    const { client_id } = await place.register()
    const page = await new Browser().open(place.page(client_id, { redirect_uri: 'http://127.0.0.1:99999/callback' }))
    expect([page.status, page.url.origin]).toEqual([400, place.origin])
    expect(place.errors).toEqual([])
  })
})

describe('unusable metadata documents', () => {
  it('refuses an unusable metadata document with one sentence and logs the reason [AUTH-053]', async () => {
    const found: Record<string, () => Response> = {
      'https://a.example/no-json': () => new Response('<html>'),
      'https://a.example/other': () => Response.json({ client_id: 'x' }),
      'https://a.example/gone': () => new Response('', { status: 418 }),
    }
    const web = async (url: string, init?: unknown) => {
      if (url.startsWith('http://127.0.0.1')) return fetch(url, init as RequestInit)
      const answer = found[url]?.()
      if (!answer) throw new Error('connect ECONNREFUSED 10.1.2.3:443')
      return answer
    }
    await using place = await Place.start({ broker: { fetch: web } })
    const addresses = [...Object.keys(found), 'https://b.example/down', 'https://10.0.0.1/x', 'https://127.0.0.1:1/x']
    const told = new Set<string>()
    for (const address of addresses) {
      const page = await new Browser().open(place.page(address))
      expect(page.status).toBe(400)
      told.add(textOf(page))
      const { status, body } = await place.refresh(address, 'x')
      expect([status, body.error]).toEqual([401, 'invalid_client'])
      told.add(body.error_description)
    }
    expect(told.size).toBe(2)
    const heard = place.errors.map(({ message }) => message).join('\n')
    for (const reason of ['is not JSON', 'client_id', 'HTTP 418', 'b.example failed', '10.0.0.1'])
      expect(heard).toContain(reason)
  })

  it('limits the URL and the stored part of a metadata document', async () => {
    const long = (length: number) => 'x'.repeat(length)
    const web = async (url: string, init?: unknown) => {
      if (url.startsWith('http://127.0.0.1')) return fetch(url, init as RequestInit)
      const uri = url.endsWith('/uri') ? `https://a.example/${long(2_048)}` : redirectUri
      return Response.json({ client_id: url, client_name: 'A', redirect_uris: [uri] })
    }
    await using place = await Place.start({ broker: { fetch: web } })
    const shown = async (address: string, redirect_uri = redirectUri) => {
      const body = place.page(address, { redirect_uri }).searchParams
      const page = await new Browser().open(`${place.origin}/authorize`, { method: 'POST', body })
      return page.status
    }
    expect(await shown('https://a.example/client')).toBe(200)
    expect(await shown(`https://a.example/${long(2_048)}`)).toBe(400)
    expect(await shown('https://a.example/uri', `https://a.example/${long(2_048)}`)).toBe(400)
  })
})

describe('forged codes and refresh tokens', () => {
  it('ends a login on token reuse only when its own client presents the token', async () => {
    await using place = await Place.start()
    const { clientId, access, refresh } = await place.signIn()
    const { client_id: stranger } = await place.register({ client_name: 'Other' })
    const forged = `${refresh.split('.')[0]}.made-up`
    expect((await place.redeem(stranger, forged)).body.error).toBe('invalid_grant')
    expect((await place.refresh(stranger, forged)).body.error).toBe('invalid_grant')
    expect(await place.call(access)).toBe(200)
    expect((await place.refresh(clientId, refresh)).status).toBe(200)
    // Nor is a code used up by a client that it was not given to.
    const waiting = await place.authorize()
    expect((await place.redeem(stranger, waiting.code)).body.error).toBe('invalid_grant')
    expect((await place.redeem(waiting.clientId, waiting.code)).status).toBe(200)
  })
})
