import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { bearer, clientCredentials, MemoryTokenStore, oauth } from 'tenon/auth/client'
import { connect } from 'tenon/client'
import { followRedirect, grantsAt, redirectUrl, sentTo, startIssuer } from './support/auth.js'
import { officialVaults, startOwnIssuer } from './support/auth-servers.js'
import { handshakes, revisions } from './support/programs.js'

// Tenon's client logs in to servers that are protected by the published packages.

const browserless = { redirectUrl, authorize: followRedirect }

const newest = { 'official v1': '2025-11-25', 'official v2': '2026-07-28' }

for (const [name, { start }] of Object.entries(officialVaults)) {
  describe(`Tenon client, ${name} server that wants a token`, () => {
    for (const revision of name === 'official v1' ? handshakes : revisions) {
      test(`registers, has the user agree, lists the tools and calls one (${revision})`, async (t) => {
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

    test('finds out the revision although it is refused at first', async (t) => {
      const { url } = await start(t, await startIssuer(t))
      const client = await enter(t, url, { auth: oauth(browserless) })
      assert.equal(client.revision, newest[name])
      assert.equal(await say(client, 'whoami'), 'alice read')
    })

    test('finds the metadata where the challenge does not name it', async (t) => {
      const issuer = await startIssuer(t, { issuerPath: '/tenant1' })
      const { url } = await start(t, issuer, { metadataUrlInChallenge: false })
      const client = await enter(t, url, { auth: oauth(browserless) })
      assert.equal(await say(client, 'whoami'), 'alice read')
    })

    test('refreshes when its token is past its time, and the user is not asked again', async (t) => {
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

    test('refreshes in the middle of a connection, once for many calls', async (t) => {
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

    test('refreshes by itself once it knows that its token is past its time', async (t) => {
      t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
      const issuer = await startIssuer(t, { accessTokenSeconds: 300 })
      const { url } = await start(t, issuer)
      const client = await enter(t, url, { auth: oauth(browserless) })
      t.mock.timers.setTime(Date.now() + 400_000)
      assert.equal(await say(client, 'whoami'), 'alice read')
      assert.deepEqual(grantsAt(issuer), ['authorization_code', 'refresh_token'])
    })

    test('asks the user again when the refresh token is no good either', async (t) => {
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

    test('asks for more when its token allows too little', async (t) => {
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

    test('gives up when it is refused with a new token', async (t) => {
      const issuer = await startIssuer(t)
      const { url } = await start(t, issuer)
      issuer.faults.expiredTokens = true
      const error = await connect(url, { auth: oauth(browserless) }).catch((reason) => reason)
      assert.equal(error.code, 'auth')
      assert.match(error.message, /HTTP 401/)
      assert.deepEqual(grantsAt(issuer), ['authorization_code'])
    })

    test('asks the user when it is refused with a refreshed token', async (t) => {
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

    test('lets a machine in by a secret', async (t) => {
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

    test('brings a token of its own, and is told when it is for another server', async (t) => {
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

describe('Tenon client, official v2 server with a tool that needs more', () => {
  for (const revision of revisions) {
    test(`asks the user for more, and keeps what it had (${revision})`, async (t) => {
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

  test('names every scope once', async (t) => {
    const issuer = await startIssuer(t)
    const { url } = await officialVaults['official v2'].start(t, issuer)
    const client = await enter(t, url, { auth: oauth(browserless) })
    await client.callTool('shred')
    assert.equal(sentTo(issuer, 'authorize')[1].scope, 'read shred')
  })

  test('asks again after another login', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
    const issuer = await startIssuer(t)
    const { url, expire } = await officialVaults['official v2'].start(t, issuer)
    const client = await enter(t, url, { auth: oauth(browserless) })
    assert.equal(await say(client, 'shred'), 'shredded')
    // Tokens that are refused at once are not replaced.
    t.mock.timers.setTime(Date.now() + 20_000)
    expire()
    issuer.faults.next('token', { status: 400, body: { error: 'invalid_grant' } })
    assert.match(await say(client, 'whoami'), /^alice /)
    assert.equal(await say(client, 'shred'), 'shredded')
  })
})

describe('Tenon client, official v1 server that is its own authorization server', () => {
  // The proxy behind it has another name than the issuer that the client knows, which `iss` would give away.
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

  test('logs in where only the origin of the server says how, as before 2025-06-18', async (t) => {
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

  test('redeems no code that came from another issuer than the one it went to', async (t) => {
    const issuer = await startIssuer(t)
    const { url } = await startOwnIssuer(t, issuer)
    await assert.rejects(connect(url, { auth: oauth(browserless) }), /without authorization/)
    assert.deepEqual(grantsAt(issuer), [])
  })
})

function expectedRequest(url) {
  return { scope: 'read', resource: url, code_challenge_method: 'S256' }
}

/** Connects; the client is closed with the test. */
async function enter(t, url, options) {
  const client = await connect(url, options)
  t.after(() => client.close())
  return client
}

async function say(client, name) {
  return (await client.callTool(name)).text
}
