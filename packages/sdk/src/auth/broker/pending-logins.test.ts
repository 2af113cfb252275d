import { describe, expect, it } from 'vitest'
import { movableDate } from '../../../test/kit/time.ts'
import { MemoryValueStore } from '../../store/memory/values.ts'
import { Sealer } from '../../util/sealer.ts'
import { BrowserCookie } from './browser-cookie.ts'
import { EncryptedStore } from './encrypted-store.ts'
import { PendingLogins } from './pending-logins.ts'

const ttlMs = 60_000
const start = (max = 3, store = new EncryptedStore(new MemoryValueStore(), new Sealer())) => {
  const logins = new PendingLogins(store, max, ttlMs)
  const begin = (id: string, peer?: string) => logins.begin(id, `login ${id}`, { binding: { id } }, peer)
  return { store, logins, begin, finish: (id: string) => logins.finish(`login ${id}`) }
}

describe('pending logins', () => {
  it('are finished once, and each form is sent once, also in another process', async () => {
    const { store, begin, finish, logins } = start()
    expect(await begin('a')).toBe(true)
    expect(logins.has('a')).toBe(true)
    expect(await begin('a')).toBe(false)
    expect(await start(3, store).begin('a')).toBe(false)
    expect(await finish('a')).toEqual({ binding: { id: 'a' } })
    expect(logins.has('a')).toBe(false)
    expect(await finish('a')).toBeUndefined()
    expect(await begin('a')).toBe(false)
    expect(logins.has('a')).toBe(false)
  })

  it('make room at the limit by the oldest of the busiest network', async () => {
    const { begin, finish, logins } = start(4)
    await begin('a1', '10.0.0.1')
    await begin('b1', '10.0.0.2')
    await begin('a2', '10.0.0.1')
    await begin('a3', '10.0.0.1')
    expect(await begin('c1', '10.0.0.3')).toBe(true)
    expect(['a1', 'b1', 'a2', 'a3', 'c1'].map((id) => logins.has(id))).toEqual([false, true, true, true, true])
    expect(await finish('a1')).toBeUndefined()
    expect(await finish('a2')).toBeDefined()
  })

  it('are refused at the limit if no network has more than the new one would have', async () => {
    const { begin } = start(2)
    await begin('a1', '10.0.0.1')
    await begin('a2', '10.0.0.1')
    const refusal = { errorCode: 'temporarily_unavailable', status: 503, headers: { 'retry-after': '60' } }
    await expect(begin('a3', '10.0.0.1')).rejects.toMatchObject(refusal)
    expect(await begin('b1', '10.0.0.2')).toBe(true)
    await expect(begin('b2', '10.0.0.2')).rejects.toMatchObject(refusal)
    await expect(begin('c1', '10.0.0.3')).rejects.toMatchObject(refusal)
  })

  it('of unknown addresses count as one network', async () => {
    const { begin } = start(2)
    await begin('a')
    await begin('b')
    await expect(begin('c')).rejects.toMatchObject({ status: 503 })
  })

  it('are forgotten at the moment in which they expire', async () => {
    const time = movableDate()
    const { begin, logins } = start(1)
    await begin('a')
    time.advance(ttlMs - 1)
    await expect(begin('b')).rejects.toMatchObject({ status: 503 })
    time.advance(1)
    expect(await begin('b')).toBe(true)
    expect([logins.has('a'), logins.has('b')]).toEqual([false, true])
  })
})

describe('the cookie of a login', () => {
  const requestWith = (cookie?: string) => ({
    method: 'GET',
    url: '/',
    body: '',
    header: (name: string) => (name === 'cookie' ? cookie : undefined),
  })
  const cookies = new BrowserCookie(new Sealer(), 'https://mcp.example', 600)
  const nameOf = (slot: number) => `__Host-tenon-login-${slot}`

  it('has a free slot while there is one, and any slot if all are used', () => {
    for (let free = 0; free < 8; free++) {
      const used = [0, 1, 2, 3, 4, 5, 6, 7].filter((slot) => slot !== free)
      expect(cookies.freeSlot(requestWith(used.map((slot) => `${nameOf(slot)}=x`).join('; ')))).toBe(free)
    }
    const all = [0, 1, 2, 3, 4, 5, 6, 7].map((slot) => `${nameOf(slot)}=x`).join(';')
    const chosen = new Set(Array.from({ length: 200 }, () => cookies.freeSlot(requestWith(all))))
    expect(chosen.size).toBeGreaterThan(1)
    for (const slot of [...chosen, cookies.freeSlot(requestWith())]) expect([0, 1, 2, 3, 4, 5, 6, 7]).toContain(slot)
  })

  it('is for this host only, and secure where possible', async () => {
    const binding = { id: 'i', slot: 3, key: 'k', client: 'c' }
    const { 'set-cookie': secure } = await cookies.set(binding)
    expect(secure).toMatch(/^__Host-tenon-login-3=[^;]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/)
    const local = new BrowserCookie(new Sealer(), 'http://localhost:1', 600)
    expect(local.clear(binding)).toEqual({
      'set-cookie': 'tenon-login-3=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax',
    })
  })

  it('matches its own login, key, client and slot only', async () => {
    const binding = { id: 'i', slot: 3, key: 'k', client: 'c' }
    const cookie = `other=1; ${(await cookies.set(binding))['set-cookie']!.split(';')[0]}`
    expect(await cookies.matches(requestWith(cookie), binding)).toBe(true)
    for (const other of [{ id: 'j' }, { slot: 2 }, { key: 'l' }, { client: 'd' }]) {
      expect(await cookies.matches(requestWith(cookie), { ...binding, ...other })).toBe(false)
    }
    for (const none of [undefined, '', `${nameOf(3)}=`, `${nameOf(3)}=x`]) {
      expect(await cookies.matches(requestWith(none), binding)).toBe(false)
    }
  })
})
