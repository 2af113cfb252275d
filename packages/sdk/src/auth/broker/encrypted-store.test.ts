import { expect, it } from 'vitest'
import { MemoryValueStore } from '../../store/memory/values.ts'
import { Sealer } from '../../util/sealer.ts'
import { EncryptedStore } from './encrypted-store.ts'

it('keeps what strangers can create apart, so that they cannot evict grants', async () => {
  const [lasting, temporary] = [new MemoryValueStore(), new MemoryValueStore()]
  const store = new EncryptedStore(lasting, new Sealer(), temporary)
  for (const kind of ['form', 'login', 'grant', 'upstream']) await store.set(kind, 'x', `a ${kind}`, 60_000)
  const kept = async (values: MemoryValueStore) => {
    const kinds = ['form', 'login', 'grant', 'upstream']
    const found = await Promise.all(kinds.map((kind) => values.get(`broker/${kind}/x`)))
    return kinds.filter((_, index) => found[index] !== undefined)
  }
  expect(await kept(temporary)).toEqual(['form', 'login'])
  expect(await kept(lasting)).toEqual(['grant', 'upstream'])
  expect(await store.take('login', 'x')).toBe('a login')
  expect(await store.get('login', 'x')).toBeUndefined()
  expect(await store.get('grant', 'x')).toBe('a grant')
  await store.delete('grant', 'x')
  expect(await store.get('grant', 'x')).toBeUndefined()
})

it('reads only what it wrote itself, in its place', async () => {
  const values = new MemoryValueStore()
  const store = new EncryptedStore(values, new Sealer())
  await store.set('grant', 'ann', { scopes: ['admin'] }, 60_000)
  const sealed = (await values.get('broker/grant/ann'))!
  expect(sealed).not.toContain('admin')
  await values.set('broker/grant/bob', sealed, 60_000)
  expect(await store.get('grant', 'bob')).toBeUndefined()
  expect(await new EncryptedStore(values, new Sealer()).get('grant', 'ann')).toBeUndefined()
  expect(await store.get('grant', 'ann')).toEqual({ scopes: ['admin'] })
})
