import { findLogin, forgetLogin, MemoryTokenStore, oauth } from 'tenon/auth/client'
import { connect } from 'tenon/client'
import { expect, it } from 'vitest'
import type { OAuthSession } from '../../src/auth/client/session.ts'
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

it('knows the scopes of the login, also in another process that has not read the store yet', async () => {
  await using vault = await protectedServer({}, { requiredScopes: ['read'] })
  const store = new MemoryTokenStore()
  const auth = oauth({ store, showPage: async (page) => followRedirect(page) })
  await using client = await connect(vault.url, { auth })
  expect((await client.callTool('whoami')).text).toBe('alice read')
  const later = oauth({ store, showPage: async (page) => followRedirect(page) })
  expect(await (later(new URL(vault.url)) as OAuthSession).scopes()).toEqual(['read'])
  expect(await (oauth({ store: new MemoryTokenStore() })(new URL(vault.url)) as OAuthSession).scopes()).toEqual([])
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
