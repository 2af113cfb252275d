import { type BrokerOptions, broker, MemoryValueStore, type ValueStore } from 'tenon/auth/server'
import { describe, expect, it } from 'vitest'
import { deferred } from '../../src/util/deferred.ts'
import { anyRequest, Place, scopes, secret } from './broker-support.ts'

/** In memory, with moments at which a test can hold it up. */
class HeldStore implements ValueStore {
  readonly memory = new MemoryValueStore()
  readonly keys = new Set<string>()
  /** What is read while there is one comes when it settles, as it was when it was read. */
  reads: Promise<void> | undefined
  /** Called before something is written, and waited for. */
  beforeSet: (key: string) => Promise<void> | undefined = () => undefined
  onTake: (key: string) => void = () => {}

  async get(key: string) {
    const value = this.memory.get(key)
    await this.reads
    return value
  }

  async set(key: string, value: string, ttlMs: number) {
    await this.beforeSet(key)
    this.keys.add(key)
    this.memory.set(key, value, ttlMs)
  }

  async take(key: string) {
    this.onTake(key)
    return this.memory.take(key)
  }

  async delete(key: string) {
    this.memory.delete(key)
  }
}

/** The provider gives each refresh token once, and ends the login when one comes again; its tokens are always due. */
async function start(store = new HeldStore()) {
  const place = await Place.start({ broker: { store }, upstream: { accessTokenSeconds: 30 } })
  const tokens = await place.signIn()
  const info = await place.auth.verify(tokens.access, anyRequest)
  const another = (options: Partial<BrokerOptions> = {}) =>
    broker({ resource: place.url, upstream: place.upstream, scopes, secrets: [secret], store, ...options })
  return {
    ...tokens,
    place,
    store,
    info,
    another,
    ours: () => place.auth.upstreamToken(info),
    renewals: () => place.tokenRequests('refresh_token').length,
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  }
}

describe('upstream refresh when the provider rotates refresh tokens', () => {
  it('keeps the login when a caller read it before another one refreshed it [AUTH-024]', async () => {
    await using login = await start()
    const late = deferred<void>()
    login.store.reads = late.promise
    const second = login.ours()
    login.store.reads = undefined
    const first = await login.ours()
    late.resolve()
    expect(await second).toBe(first)
    expect(login.renewals()).toBe(1)
    expect(await login.ours()).not.toBe(first)
    expect(await login.place.call(login.access)).toBe(200)
  })

  it('keeps the login for callers that arrive during and just after a refresh [AUTH-024]', async () => {
    await using login = await start()
    const calls: Promise<string>[] = []
    for (let call = 0; call < 60; call++) {
      calls.push(login.ours())
      await new Promise((resolve) => setImmediate(resolve))
    }
    await Promise.all(calls)
    await login.ours()
    expect(await login.place.call(login.access)).toBe(200)
  })

  it('keeps the login when processes refresh at once: one refreshes, the others wait [AUTH-024]', async () => {
    await using login = await start()
    const other = login.another()
    const answer = deferred<void>()
    login.place.as.faults.next('token', { until: answer.promise })
    const first = login.ours()
    await expect.poll(login.renewals).toBe(1)
    const second = other.upstreamToken(login.info)
    const third = login.another().upstreamToken(login.info)
    // Whoever did not wait would have asked the provider before all of this has gone to and fro.
    for (let call = 0; call < 5; call++) await login.place.call(login.access)
    expect(login.renewals()).toBe(1)
    answer.resolve()
    expect(await second).toBe(await first)
    expect(await third).toBe(await first)
    for (const broker of [other, login.place.auth, other]) await broker.upstreamToken(login.info)
    expect(await login.place.call(login.access)).toBe(200)
  })

  it('keeps the login when a client refreshes while a handler does', async () => {
    await using login = await start()
    const { store } = login
    const [held, renewed] = [deferred<void>(), deferred<void>()]
    store.onTake = (key) => {
      if (!key.startsWith('broker/refresh/')) return
      store.onTake = () => {}
      store.beforeSet = () => {
        store.beforeSet = () => undefined
        held.resolve()
        return renewed.promise
      }
    }
    const refreshing = login.place.refresh(login.clientId, login.refresh)
    await held.promise
    await login.ours()
    renewed.resolve()
    const { status, body } = await refreshing
    expect(status).toBe(200)
    await login.ours()
    expect((await login.place.refresh(login.clientId, body.refresh_token)).status).toBe(200)
  })

  it('keeps the login when a process ended during its refresh', async () => {
    await using login = await start()
    for (const key of login.store.keys) if (key.startsWith('broker/renewal/')) login.store.memory.delete(key)
    await login.ours()
    expect(await login.place.call(login.access)).toBe(200)
  })

  it('can refresh again immediately after the provider was unreachable [AUTH-025]', async () => {
    await using login = await start()
    const other = login.another()
    login.place.as.faults.next('token', 'server-error')
    await expect(login.ours()).rejects.toThrow(/is not available. Try again later/)
    await other.upstreamToken(login.info)
    expect(login.renewals()).toBe(2)
  })

  it('ends the login in every waiting process when the provider ended it', async () => {
    await using login = await start()
    const other = login.another()
    const answer = deferred<void>()
    const body = { error: 'invalid_grant' }
    login.place.as.faults.next('token', { status: 400, body, until: answer.promise })
    const first = login.ours()
    await expect.poll(login.renewals).toBe(1)
    const second = other.upstreamToken(login.info)
    answer.resolve()
    await expect(first).rejects.toThrow(/Not signed in/)
    await expect(second).rejects.toThrow(/Not signed in/)
    expect(login.renewals()).toBe(1)
    expect(await login.place.call(login.access)).toBe(401)
  })
})

describe('a refresh token that two processes receive at once', () => {
  it.each(['refresh', 'rotated'])(
    'returns the same tokens from both processes, also while one writes %s [AUTH-096]',
    async (kind) => {
      await using login = await start()
      const { place, store, clientId, refresh } = login
      const go = deferred<void>()
      const isHeld = deferred<void>()
      store.beforeSet = (key) => {
        if (!key.startsWith(`broker/${kind}/`)) return undefined
        isHeld.resolve()
        return go.promise
      }
      const first = place.refresh(clientId, refresh)
      await isHeld.promise
      const form = new URLSearchParams({ grant_type: 'refresh_token', client_id: clientId, refresh_token: refresh })
      const second = login.another().routes.respond({
        method: 'POST',
        url: '/token',
        header: (name) => (name === 'content-type' ? 'application/x-www-form-urlencoded' : undefined),
        body: form.toString(),
      })
      await new Promise((resolve) => setImmediate(resolve))
      go.resolve()
      const [{ body }, answer] = await Promise.all([first, second])
      expect(JSON.parse(answer!.body)).toMatchObject({
        access_token: body.access_token,
        refresh_token: body.refresh_token,
      })
      expect(await place.call(body.access_token)).toBe(200)
    },
  )
})
