import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { bearer, clientCredentials, MemoryTokenStore, oauth } from 'tenon/auth/client'
import { connect } from 'tenon/client'
import { followRedirect, grantsAt, redirectUrl, sentTo, startIssuer } from './support/auth.js'
import { officialVaults, startOwnIssuer } from './support/auth-servers.js'
import { handshakes, revisions } from './support/programs.js'

// The Tenon client logs in to servers that are protected by the official packages.

const browserless = { redirectUrl, authorize: followRedirect }

const newest = { 'official v1': '2025-11-25', 'official v2': '2026-07-28' }

for (const [name, { start }] of Object.entries(officialVaults)) {
  describe(`Tenon client, ${name} server with auth`, () => {
    for (const revision of name === 'official v1' ? handshakes : revisions) {
      test(`registers, gets consent, lists the tools and calls one (${revision})`, async (t) => {
        const issuer = await startIssuer(t)
        const { url } = await start(t, issuer)
        const client = await enter(t, url, { revision, auth: oauth(browserless) })
        const tools = await client.listTools().all()
        assert.deepEqual(tools.map((tool) => tool.name).sort(), ['shred', 'whoami'])
        assert.equal(await say(client, 'whoami'), 'alice read')
        assert.equal(sentTo(issuer, 'register').length, 1)
        const [asked] = sentTo(issuer, 'authorize')
        const { scope, resource, code_challenge_method } = asked
        assert.deepEqual({ scope, resource, code_challenge_method }, expectedRequest(url))
        assert.deepEqual(grantsAt(issuer), ['authorization_code'])
      })
    }

    test('detects the revision although the first request is rejected', async (t) => {
      const { url } = await start(t, await startIssuer(t))
      const client = await enter(t, url, { auth: oauth(browserless) })
      assert.equal(client.revision, newest[name])
      assert.equal(await say(client, 'whoami'), 'alice read')
    })

    test('discovers the metadata when the challenge does not name it', async (t) => {
      const issuer = await startIssuer(t, { issuerPath: '/tenant1' })
      const { url } = await start(t, issuer, { metadataUrlInChallenge: false })
      const client = await enter(t, url, { auth: oauth(browserless) })
      assert.equal(await say(client, 'whoami'), 'alice read')
    })

    test('refreshes an expired token without asking the user again', async (t) => {
      const issuer = await startIssuer(t)
      const { url, expire } = await start(t, issuer)
      const store = new MemoryTokenStore()
      await enter(t, url, { auth: oauth({ ...browserless, store }) })
      for (const refreshes of [1, 2]) {
        expire()
        const client = await enter(t, url, { auth: oauth({ ...browserless, store }) })
        assert.equal(await say(client, 'whoami'), 'alice read')
        assert.deepEqual(grantsAt(issuer), ['authorization_code', ...Array(refreshes).fill('refresh_token')])
      }
      assert.equal(sentTo(issuer, 'authorize').length, 1)
    })

    test('refreshes during a connection, once for many calls', async (t) => {
      const issuer = await startIssuer(t)
      const { url, expire } = await start(t, issuer)
      const store = new MemoryTokenStore()
      await enter(t, url, { auth: oauth({ ...browserless, store }) })
      const client = await enter(t, url, { auth: oauth({ ...browserless, store }) })
      expire()
      const said = await Promise.all(Array.from({ length: 20 }, () => say(client, 'whoami')))
      assert.deepEqual(new Set(said), new Set(['alice read']))
      assert.deepEqual(grantsAt(issuer), ['authorization_code', 'refresh_token'])
    })

    test('refreshes proactively once it knows that its token has expired', async (t) => {
      t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
      const issuer = await startIssuer(t, { accessTokenSeconds: 300 })
      const { url } = await start(t, issuer)
      const client = await enter(t, url, { auth: oauth(browserless) })
      t.mock.timers.setTime(Date.now() + 400_000)
      assert.equal(await say(client, 'whoami'), 'alice read')
      assert.deepEqual(grantsAt(issuer), ['authorization_code', 'refresh_token'])
    })

    test('asks the user again when the refresh token is rejected too', async (t) => {
      const issuer = await startIssuer(t)
      const { url, expire } = await start(t, issuer)
      const store = new MemoryTokenStore()
      await enter(t, url, { auth: oauth({ ...browserless, store }) })
      expire()
      issuer.faults.next('token', { status: 400, body: { error: 'invalid_grant' } })
      const client = await enter(t, url, { auth: oauth({ ...browserless, store }) })
      assert.equal(await say(client, 'whoami'), 'alice read')
      assert.deepEqual(grantsAt(issuer), ['authorization_code', 'refresh_token', 'authorization_code'])
    })

    test('asks for more scopes when its token has too few', async (t) => {
      const issuer = await startIssuer(t)
      const { url } = await start(t, issuer)
      issuer.faults.grantedScope = 'other'
      const authorize = async (page) => {
        if (sentTo(issuer, 'authorize').length > 0) issuer.faults.grantedScope = undefined
        return followRedirect(page)
      }
      const client = await enter(t, url, { auth: oauth({ redirectUrl, authorize }) })
      assert.match(await say(client, 'whoami'), /^alice .*read/)
      assert.equal(sentTo(issuer, 'authorize').length, 2)
    })

    test('fails when a new token is rejected', async (t) => {
      const issuer = await startIssuer(t)
      const { url } = await start(t, issuer)
      issuer.faults.expiredTokens = true
      const error = await connect(url, { auth: oauth(browserless) }).catch((reason) => reason)
      assert.equal(error.code, 'auth')
      assert.match(error.message, /HTTP 401/)
      assert.deepEqual(grantsAt(issuer), ['authorization_code'])
    })

    test('asks the user when a refreshed token is rejected', async (t) => {
      const issuer = await startIssuer(t)
      const { url, expire } = await start(t, issuer)
      const store = new MemoryTokenStore()
      await enter(t, url, { auth: oauth({ ...browserless, store }) })
      expire()
      issuer.faults.expiredTokens = true
      const authorize = (page) => {
        issuer.faults.expiredTokens = false
        return followRedirect(page)
      }
      const client = await enter(t, url, { auth: oauth({ redirectUrl, authorize, store }) })
      assert.equal(await say(client, 'whoami'), 'alice read')
      assert.deepEqual(grantsAt(issuer), ['authorization_code', 'refresh_token', 'authorization_code'])
    })

    test('connects with client credentials', async (t) => {
      const machine = { client_id: 'machine', client_secret: 'a secret', grant_types: ['client_credentials'] }
      const issuer = await startIssuer(t, { clients: [machine] })
      const { url, expire } = await start(t, issuer)
      const auth = clientCredentials({ clientId: 'machine', clientSecret: 'a secret' })
      const first = await enter(t, url, { auth })
      assert.match(await say(first, 'whoami'), / read$/)
      expire()
      const second = await enter(t, url, { auth })
      assert.match(await say(second, 'whoami'), / read$/)
      assert.deepEqual(grantsAt(issuer), ['client_credentials', 'client_credentials'])
    })

    test('connects with a given token, and is rejected with one for another server', async (t) => {
      const issuer = await startIssuer(t)
      const { url } = await start(t, issuer)
      const token = await issuer.issueToken({ scope: 'read', resource: url })
      const client = await enter(t, url, { auth: bearer(token) })
      assert.equal(await say(client, 'whoami'), 'alice read')
      const other = await issuer.issueToken({ scope: 'read', resource: 'http://127.0.0.1:9/mcp' })
      await assert.rejects(connect(url, { auth: bearer(other) }), { status: 401 })
    })
  })
}

describe('Tenon client, official v2 server with a tool that needs more scopes', () => {
  for (const revision of revisions) {
    test(`asks the user for more scopes and keeps the earlier ones (${revision})`, async (t) => {
      const issuer = await startIssuer(t)
      const { url } = await officialVaults['official v2'].start(t, issuer)
      const client = await enter(t, url, { revision, auth: oauth(browserless) })
      assert.equal(await say(client, 'whoami'), 'alice read')
      assert.equal(await say(client, 'shred'), 'shredded')
      assert.equal(await say(client, 'whoami'), 'alice read+shred')
      const scopes = sentTo(issuer, 'authorize').map(({ scope }) => new Set(scope.split(' ')))
      assert.deepEqual(scopes, [new Set(['read']), new Set(['read', 'shred'])])
    })
  }

  test('requests every scope once', async (t) => {
    const issuer = await startIssuer(t)
    const { url } = await officialVaults['official v2'].start(t, issuer)
    const client = await enter(t, url, { auth: oauth(browserless) })
    await client.callTool('shred')
    assert.equal(sentTo(issuer, 'authorize')[1].scope, 'read shred')
  })

  test('asks for more scopes again after another login', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
    const issuer = await startIssuer(t)
    const { url, expire } = await officialVaults['official v2'].start(t, issuer)
    const client = await enter(t, url, { auth: oauth(browserless) })
    assert.equal(await say(client, 'shred'), 'shredded')
    // Tokens that are rejected right after they were issued are not replaced.
    t.mock.timers.setTime(Date.now() + 20_000)
    expire()
    issuer.faults.next('token', { status: 400, body: { error: 'invalid_grant' } })
    assert.match(await say(client, 'whoami'), /^alice /)
    assert.equal(await say(client, 'shred'), 'shredded')
  })
})

describe('Tenon client, official v1 server that is its own authorization server', () => {
  // The issuer behind the proxy differs from the one that the client knows, which `iss` would reveal.
  const behind = { issParameter: false }

  for (const revision of handshakes) {
    test(`logs in and refreshes (${revision})`, async (t) => {
      const issuer = await startIssuer(t, behind)
      const { url, expire } = await startOwnIssuer(t, issuer)
      const store = new MemoryTokenStore()
      const first = await enter(t, url, { revision, auth: oauth({ ...browserless, store }) })
      assert.equal(await say(first, 'whoami'), 'alice read+shred')
      assert.equal(sentTo(issuer, 'authorize')[0].resource, url)
      expire()
      const second = await enter(t, url, { revision, auth: oauth({ ...browserless, store }) })
      assert.equal(await say(second, 'whoami'), 'alice read+shred')
      assert.deepEqual(grantsAt(issuer), ['authorization_code', 'refresh_token'])
    })
  }

  test('logs in when only the origin of the server has metadata, as before 2025-06-18', async (t) => {
    const issuer = await startIssuer(t, { ...behind, requireResource: false })
    const { url, expire } = await startOwnIssuer(t, issuer, { resourceMetadata: false })
    const store = new MemoryTokenStore()
    const first = await enter(t, url, { auth: oauth({ ...browserless, store }) })
    assert.match(await say(first, 'whoami'), /^alice/)
    expire()
    const second = await enter(t, url, { auth: oauth({ ...browserless, store }) })
    assert.match(await say(second, 'whoami'), /^alice/)
    assert.deepEqual(grantsAt(issuer), ['authorization_code', 'refresh_token'])
  })

  test('does not redeem a code from another issuer', async (t) => {
    const issuer = await startIssuer(t)
    const { url } = await startOwnIssuer(t, issuer)
    await assert.rejects(connect(url, { auth: oauth(browserless) }), /without authorization/)
    assert.deepEqual(grantsAt(issuer), [])
  })
})

function expectedRequest(url) {
  return { scope: 'read', resource: url, code_challenge_method: 'S256' }
}

/** Connects a client that is closed after the test. */
async function enter(t, url, options) {
  const client = await connect(url, options)
  t.after(() => client.close())
  return client
}

async function say(client, name) {
  return (await client.callTool(name)).text
}
