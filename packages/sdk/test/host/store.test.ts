import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Grant } from '../../src/host/grants.ts'
import { emptyRecord, HostState, type HostStore, memoryHostStore } from '../../src/host/host-store.ts'
import { fileHostStore } from '../../src/host/node/host-store-file.ts'
import { errorOf } from '../kit/error-of.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'host-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

const grant = (id: string): Grant => ({
  id,
  duration: 'always',
  server: 'files',
  kind: 'tool',
  covers: 'action',
  name: 'read',
  digest: 'd',
  from: [],
  createdAt: 1,
  expiresAt: 2,
})

const idsOf = async (store: HostStore) => (await store.load())?.grants.map(({ id }) => id)

describe.each([
  ['memory', () => memoryHostStore()],
  ['a file', () => fileHostStore(join(folder(), 'new', 'host.json'))],
])('a host store in %s', (_, create) => {
  it('returns what was saved, and nothing before', async () => {
    const store = create()
    expect(await store.load()).toBeUndefined()
    const record = emptyRecord()
    record.grants.push(grant('a'))
    const id = '__proto__'
    record.pins[id] = { digest: 'p' }
    record.connections.files = { digest: 'c', target: 'node server.js' }
    await store.save(record)
    record.grants.length = 0
    const loaded = await store.load()
    expect(loaded?.grants).toEqual([grant('a')])
    expect(Object.entries(loaded?.pins ?? {})).toEqual([['__proto__', { digest: 'p' }]])
    expect({ ...loaded?.connections }).toEqual({ files: { digest: 'c', target: 'node server.js' } })
  })

  it('keeps what others added and removed since a record was loaded', async () => {
    const store = create()
    const first = emptyRecord()
    first.grants.push(grant('kept'), grant('mine'), grant('theirs'))
    first.pins.files = 'old'
    await store.save(first)
    const [mine, theirs] = [(await store.load()) ?? emptyRecord(), (await store.load()) ?? emptyRecord()]
    mine.grants = [...mine.grants.filter(({ id }) => id !== 'mine'), grant('added by me')]
    theirs.grants = [...theirs.grants.filter(({ id }) => id !== 'theirs'), grant('added by them')]
    theirs.pins.files = 'new'
    await store.save(theirs)
    await store.save(mine)
    expect((await idsOf(store))?.sort()).toEqual(['added by me', 'added by them', 'kept'])
    expect((await store.load())?.pins.files).toBe('new')
  })

  it('does not bring back a grant that was revoked while this one recorded its use', async () => {
    const store = create()
    const first = emptyRecord()
    first.grants.push(grant('a'))
    await store.save(first)
    const [mine, theirs] = [(await store.load()) ?? emptyRecord(), (await store.load()) ?? emptyRecord()]
    theirs.grants = []
    await store.save(theirs)
    for (const used of mine.grants) used.lastUsedAt = 5
    await store.save(mine)
    expect(await idsOf(store)).toEqual([])
  })

  it('makes the changes of all parts of a host one after the other', async () => {
    const store = create()
    const [a, b] = [await HostState.open(store), await HostState.open(store)]
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => {
        const state = index % 2 === 0 ? a : b
        return state.update((record) => {
          record.grants.push(grant(`g${index}`))
          record.pins[`server ${index}`] = index
        })
      }),
    )
    await a.reload()
    expect(a.record.grants).toHaveLength(20)
    expect(Object.keys(a.record.pins)).toHaveLength(20)
  })

  it('continues after a change that failed', async () => {
    const state = await HostState.open(create())
    const failed = state.update(() => {
      throw new Error('oops')
    })
    await expect(failed).rejects.toThrow('oops')
    await state.update((record) => void record.grants.push(grant('a')))
    expect(state.record.grants).toHaveLength(1)
  })
})

describe('the file of a host store', () => {
  it('and its folder are for the owner only', async () => {
    const path = join(folder(), 'deep', 'er', 'host.json')
    await fileHostStore(path).save(emptyRecord())
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700)
    expect(readdirSync(join(path, '..'))).toEqual(['host.json'])
  })

  it.each([
    ['is empty', ''],
    ['is cut', '{"version":1,"grants":['],
    ['is not an object', '[]'],
    ['has another version', '{"version":2,"grants":[],"pins":{},"connections":{}}'],
    ['lacks the pins', '{"version":1,"grants":[],"connections":{}}'],
    ['has an invalid grant', '{"version":1,"grants":[{"id":"a"}],"pins":{},"connections":{}}'],
    ['has an invalid connection', '{"version":1,"grants":[],"pins":{},"connections":{"a":"node"}}'],
  ])('is never taken for an empty one if it %s', async (_, text) => {
    const path = join(folder(), 'host.json')
    writeFileSync(path, text, { mode: 0o600 })
    const error = await errorOf(fileHostStore(path).load())
    expect(error.code).toBe('invalid-argument')
    expect(error.message).toContain(`Cannot read the approvals in "${path}"`)
    expect(error.message).toContain('To start afresh and approve everything again, delete it.')
    await expect(fileHostStore(path).save(emptyRecord())).rejects.toThrow('Cannot read the approvals')
    await expect(HostState.open(fileHostStore(path))).rejects.toThrow('Cannot read the approvals')
    expect(readFileSync(path, 'utf8')).toBe(text)
    expect(existsSync(`${path}.lock`)).toBe(false)
  })

  it('is not used if others could have written it', async () => {
    const path = join(folder(), 'host.json')
    await fileHostStore(path).save(emptyRecord())
    chmodSync(path, 0o666)
    await expect(fileHostStore(path).load()).rejects.toThrow('other users can write to it')
    const link = join(folder(), 'link.json')
    symlinkSync(path, link)
    await expect(fileHostStore(link).load()).rejects.toThrow('Cannot read the approvals')
    const directory = join(folder(), 'directory.json')
    mkdirSync(directory)
    await expect(fileHostStore(directory).load()).rejects.toThrow('it is not a regular file')
  })

  it('survives a crash that left a half-written new file', async () => {
    const path = join(folder(), 'host.json')
    const store = fileHostStore(path)
    const record = emptyRecord()
    record.pins.a = 1
    await store.save(record)
    writeFileSync(`${path}.new`, '{"ver')
    record.pins.b = 2
    await store.save(record)
    expect({ ...(await store.load())?.pins }).toEqual({ a: 1, b: 2 })
  })
})
