import { expect, it } from 'vitest'
import type { EncryptedStore } from './encrypted-store.ts'
import { type Grant, GrantRecords } from './grant-records.ts'

const grant: Grant = {
  subject: 'ann',
  profile: {},
  clientId: 'app',
  scopes: ['read'],
  resource: 'https://mcp.example',
  upstream: 'https://login.example',
  renewable: false,
  endsAt: Number.MAX_SAFE_INTEGER,
}

/** A store over the network: every operation takes a while. */
function slowStore() {
  const values = new Map<string, unknown>()
  const later = () => new Promise<void>((resolve) => setImmediate(resolve))
  const store = {
    get: async (kind: string, id: string) => {
      await later()
      return values.get(`${kind} ${id}`)
    },
    set: async (kind: string, id: string, value: unknown) => {
      await later()
      values.set(`${kind} ${id}`, value)
    },
    delete: async (kind: string, id: string) => {
      await later()
      values.delete(`${kind} ${id}`)
    },
  }
  return { values, records: new GrantRecords(store as unknown as EncryptedStore, grant.resource, grant.upstream) }
}

it('has deleted a grant and the tokens of the provider when the end of the grant is confirmed', async () => {
  const { values, records } = slowStore()
  await records.save('g', grant)
  await records.saveTokens('g', { accessToken: 'secret' } as never, 1_000)
  await records.end('g')
  expect([...values.keys()]).toEqual(['ended g'])
})

it('does not restore a grant that ends while it is written', async () => {
  const { values, records } = slowStore()
  const [, saved] = await Promise.allSettled([records.end('g'), records.save('g', grant)])
  expect(saved).toMatchObject({ status: 'rejected', reason: { message: 'The login has ended. Sign in again.' } })
  expect([...values.keys()]).toEqual(['ended g'])
})

it('finds only grants for its own server and provider', async () => {
  const { records } = slowStore()
  await records.save('own', grant)
  await records.save('other server', { ...grant, resource: 'https://other.example' })
  await records.save('other provider', { ...grant, upstream: 'https://other.example' })
  expect(await records.find('own')).toEqual(grant)
  for (const id of ['other server', 'other provider', 'none']) expect(await records.find(id)).toBeUndefined()
})

it('has removed what was written after the end of a grant when the write fails', async () => {
  const { values, records } = slowStore()
  await records.end('g')
  const ended = { errorCode: 'invalid_grant', message: 'The login has ended. Sign in again.' }
  await expect(records.save('g', grant)).rejects.toMatchObject(ended)
  expect([...values.keys()]).toEqual(['ended g'])
  await expect(records.saveTokens('g', { accessToken: 'secret' }, 1_000)).rejects.toMatchObject(ended)
  expect([...values.keys()]).toEqual(['ended g'])
})
