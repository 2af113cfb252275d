import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { type GrantLookup, Grants, type NewGrant } from '../../src/host/grants.ts'
import { HostState, type HostStore, memoryHostStore } from '../../src/host/host-store.ts'
import { eventually } from '../kit/eventually.ts'

const day = 24 * 60 * 60_000

const read = { server: 'files', kind: 'tool', name: 'read', digest: 'd1' } as const satisfies GrantLookup

describe('grants', () => {
  let store: HostStore
  let grants: Grants

  beforeEach(async () => {
    store = memoryHostStore()
    grants = new Grants({ state: await HostState.open(store) })
  })

  const give = (duration: NewGrant['duration'], other: Partial<NewGrant> = {}) =>
    grants.add({ ...read, duration, ...other })
  const restarted = async () => new Grants({ state: await HostState.open(store) })

  it('do not exist unless they were given', () => {
    expect(grants.use(read)).toBeUndefined()
    expect(grants.list()).toEqual([])
  })

  it('for once are used up by the first use', async () => {
    await give('once')
    expect(grants.use(read)).toMatchObject({ duration: 'once' })
    expect(grants.use(read)).toBeUndefined()
  })

  it('for a session last until the host ends', async () => {
    await give('session')
    expect(grants.use(read)).toBeDefined()
    expect(grants.use(read)).toBeDefined()
    expect((await restarted()).use(read)).toBeUndefined()
  })

  it('for always last longer than the host', async () => {
    const { id } = await give('always')
    expect((await restarted()).use(read)).toMatchObject({ id })
  })

  it.each<[string, Partial<GrantLookup>]>([
    ['server', { server: 'web' }],
    ['kind of action', { kind: 'prompt' }],
    ['tool', { name: 'write' }],
    ['digest', { digest: 'd2' }],
    ['source of data', { from: ['mail'] }],
    ['absence of a name', { name: undefined }],
  ])('never match another %s', async (_, other) => {
    await give('always')
    await give('session')
    expect(grants.use({ ...read, ...other })).toBeUndefined()
    expect(grants.use(read)).toBeDefined()
  })

  it('cannot be confused by names that contain separators', async () => {
    await give('always', { server: 'a","b', name: 'c' })
    expect(grants.use({ ...read, server: 'a', name: 'b","c' })).toBeUndefined()
    expect(grants.use({ ...read, server: 'a","b', name: 'c' })).toBeDefined()
  })

  it('for data of other servers cover these servers and no others', async () => {
    await give('always', { from: ['mail', 'calendar', 'mail'] })
    expect(grants.use({ ...read, from: ['mail'] })).toMatchObject({ from: ['calendar', 'mail'] })
    expect(grants.use({ ...read, from: ['calendar', 'mail'] })).toBeDefined()
    expect(grants.use({ ...read, from: ['mail', 'web'] })).toBeUndefined()
    expect(grants.use(read)).toBeDefined()
  })

  it('for a whole server need a second confirmation if they are standing', async () => {
    const wide = { covers: 'server', digest: 'all' } as const
    await expect(give('always', wide)).rejects.toThrow(TypeError)
    await expect(give('always', wide)).rejects.toThrow('requires a second confirmation')
    expect(grants.list()).toEqual([])
    await give('always', { ...wide, confirmed: true })
    expect(grants.use({ ...read, serverDigest: 'all' })).toMatchObject({ covers: 'server' })
    expect(grants.use({ ...read, name: 'write', digest: 'd9', serverDigest: 'all' })).toBeDefined()
  })

  it('for a whole server are void when any of its definitions change, and never cover another kind', async () => {
    await give('session', { covers: 'server', digest: 'all' })
    expect(grants.use({ ...read, serverDigest: 'changed' })).toBeUndefined()
    expect(grants.use(read)).toBeUndefined()
    expect(grants.use({ ...read, digest: 'all' })).toBeUndefined()
    expect(grants.use({ ...read, kind: 'definitions', serverDigest: 'all' })).toBeUndefined()
  })

  it('need a server and a digest of what the user saw', async () => {
    const missing = 'A grant requires the id of a server and a digest of what the user saw.'
    await expect(async () => give('once', { server: '' })).rejects.toThrow(missing)
    await expect(async () => give('once', { digest: '' })).rejects.toThrow(missing)
    expect(grants.list()).toEqual([])
  })

  it('for a tool named * do not cover other tools', async () => {
    await give('always', { name: '*' })
    expect(grants.use({ ...read, serverDigest: 'd1' })).toBeUndefined()
  })

  it('expire after 30 days, or when the caller says', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 })
    onTestFinished(() => void vi.useRealTimers())
    const { createdAt, expiresAt } = await give('always')
    expect([createdAt, expiresAt]).toEqual([1_000_000, 1_000_000 + 30 * day])
    await give('session', { name: 'write', expiresAt: 1_000_000 + day })
    vi.setSystemTime(1_000_000 + day)
    expect(grants.use({ ...read, name: 'write' })).toBeUndefined()
    expect(grants.list()).toHaveLength(1)
    vi.setSystemTime(1_000_000 + 30 * day - 1)
    expect(grants.use(read)).toBeDefined()
    vi.setSystemTime(1_000_000 + 30 * day)
    expect(grants.use(read)).toBeUndefined()
    expect(grants.list()).toEqual([])
  })

  it('that expired are removed from the store with the next change', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 })
    onTestFinished(() => void vi.useRealTimers())
    await give('always', { name: 'old' })
    vi.setSystemTime(1_000_000 + 31 * day)
    await give('always')
    expect((await store.load())?.grants.map(({ name }) => name)).toEqual(['read'])
  })

  it('record when they were last used', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 })
    onTestFinished(() => void vi.useRealTimers())
    await give('always')
    expect(grants.list()[0]?.lastUsedAt).toBeUndefined()
    vi.setSystemTime(2_000_000)
    grants.use(read)
    expect(grants.list()[0]?.lastUsedAt).toBe(2_000_000)
    await eventually(async () => (await store.load())?.grants[0]?.lastUsedAt === 2_000_000)
  })

  it('can be listed and revoked', async () => {
    const once = await give('once', { name: 'a' })
    const always = await give('always', { name: 'b' })
    expect(
      grants
        .list()
        .map(({ id }) => id)
        .sort(),
    ).toEqual([once.id, always.id].sort())
    expect(await grants.revoke(always.id)).toBe(true)
    expect(grants.use({ ...read, name: 'b' })).toBeUndefined()
    expect((await restarted()).list()).toEqual([])
    expect(await grants.revoke(always.id)).toBe(false)
    expect(await grants.revoke(once.id)).toBe(true)
    expect(grants.use({ ...read, name: 'a' })).toBeUndefined()
  })

  it('of one server can be revoked together', async () => {
    await give('always')
    await give('session', { name: 'write' })
    await give('always', { server: 'web' })
    expect(await grants.revokeAll('files')).toBe(2)
    expect(grants.list().map(({ server }) => server)).toEqual(['web'])
    expect(await grants.revokeAll()).toBe(1)
  })

  it('that another host revoked are void as soon as the state is loaded again', async () => {
    const state = await HostState.open(store)
    const [mine, other] = [new Grants({ state }), await restarted()]
    const { id } = await mine.add({ ...read, duration: 'always' })
    expect(await other.revoke(id)).toBe(true)
    await state.reload()
    expect(mine.use(read)).toBeUndefined()
  })

  it('are copies, so that a caller cannot extend them', async () => {
    const grant = await give('session')
    Object.assign(grant, { expiresAt: Number.POSITIVE_INFINITY, server: 'web' })
    Object.assign(grants.list()[0] ?? {}, { digest: 'd2' })
    expect(grants.use({ ...read, digest: 'd2' })).toBeUndefined()
    expect(grants.use(read)?.expiresAt).toBeLessThan(Number.POSITIVE_INFINITY)
  })

  it('are not given if they cannot be saved', async () => {
    const broken: HostStore = { load: async () => undefined, save: () => Promise.reject(new Error('read-only')) }
    const failing = new Grants({ state: await HostState.open(broken) })
    await expect(failing.add({ ...read, duration: 'always' })).rejects.toThrow('read-only')
    expect(failing.use(read)).toBeUndefined()
  })
})
