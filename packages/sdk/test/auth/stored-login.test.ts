import { findLogin, forgetLogin, MemoryTokenStore, oauth } from 'tenon/auth/client'
import { connect } from 'tenon/client'
import { expect, it } from 'vitest'
import { followRedirect, protectedServer } from './protected-server.ts'

it('describes a stored login without its secrets, and forgets it', async () => {
  await using vault = await protectedServer()
  const store = new MemoryTokenStore()
  expect(await findLogin(vault.url, store)).toBeUndefined()
  const auth = oauth({ store, showPage: async (page) => followRedirect(page) })
  await using client = await connect(vault.url, { auth })
  expect((await client.callTool('whoami')).text).toMatch(/^alice/)
  const login = await findLogin(`${vault.url}?with=query`, store)
  expect(login).toEqual({
    issuer: vault.as.issuer,
    clientId: expect.any(String),
    scopes: [],
    expiresAt: expect.any(Number),
    isRefreshable: true,
  })
  expect(await forgetLogin(vault.url, store)).toBe(true)
  expect(await findLogin(vault.url, store)).toBeUndefined()
  expect(await forgetLogin(vault.url, store)).toBe(false)
})

it('waits for the user to come back to this machine if showPage returns nothing', async () => {
  await using vault = await protectedServer()
  const shown: URL[] = []
  const showPage = (page: URL) => {
    shown.push(page)
    // The browser of the user, which follows the redirect to this machine.
    void fetch(page).then((response) => response.text())
  }
  await using client = await connect(vault.url, { auth: oauth({ showPage }) })
  expect((await client.callTool('whoami')).text).toMatch(/^alice/)
  expect(shown).toHaveLength(1)
  expect(new URL(shown[0]?.searchParams.get('redirect_uri') ?? '').hostname).toBe('127.0.0.1')
})

it('rejects an address of another login that the user pastes', async () => {
  await using vault = await protectedServer()
  const showPage = async (page: URL) => {
    const back = await followRedirect(page)
    back.searchParams.set('state', 'another')
    return back
  }
  await expect(connect(vault.url, { auth: oauth({ showPage }) })).rejects.toThrow('state')
})
