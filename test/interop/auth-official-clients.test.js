import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as v2 from '@modelcontextprotocol/client'
import * as machinesV1 from '@modelcontextprotocol/sdk/client/auth-extensions.js'
import { dpop, jwtVerifier } from 'tenon/auth/server'
import { grantsAt, sentTo, startIssuer } from './support/auth.js'
import { HostProvider, logIn, officialClients } from './support/auth-clients.js'
import { startTenonVault } from './support/auth-servers.js'

// The official clients log in to a Tenon server, guided by its challenge and its metadata.

for (const [name, official] of Object.entries(officialClients)) {
  describe(`${name}, Tenon server with auth`, () => {
    test('registers, gets consent, lists the tools and calls one', async (t) => {
      const issuer = await startIssuer(t)
      const url = await startTenonVault(t, issuer)
      const { client } = await logIn(t, official, new HostProvider(), url)
      const { tools } = await client.listTools()
      assert.deepEqual(tools.map((tool) => tool.name).sort(), ['shred', 'whoami'])
      assert.equal(await say(client, 'whoami'), 'alice read')
      assert.equal(sentTo(issuer, 'register').length, 1)
      const [asked] = sentTo(issuer, 'authorize')
      assert.equal(asked.scope, 'read')
      assert.equal(asked.code_challenge_method, 'S256')
      assert.equal(asked.resource, name.endsWith('SSE') ? new URL('/sse', url).href : url)
      assert.deepEqual(grantsAt(issuer), ['authorization_code'])
    })

    test('discovers an issuer with a path', async (t) => {
      const issuer = await startIssuer(t, { issuerPath: '/tenant1' })
      const { client } = await logIn(t, official, new HostProvider(), await startTenonVault(t, issuer))
      assert.equal(await say(client, 'whoami'), 'alice read')
    })

    test('refreshes an expired token without asking the user again', async (t) => {
      const issuer = await startIssuer(t)
      const url = await startTenonVault(t, issuer)
      const provider = new HostProvider()
      const { client } = await logIn(t, official, provider, url)
      await expire(issuer, provider, url)
      assert.equal(await say(client, 'whoami'), 'alice read')
      assert.deepEqual(grantsAt(issuer), ['authorization_code', 'refresh_token'])
      await expire(issuer, provider, url)
      assert.equal(await say(client, 'whoami'), 'alice read')
      assert.deepEqual(grantsAt(issuer), ['authorization_code', 'refresh_token', 'refresh_token'])
      assert.equal(sentTo(issuer, 'authorize').length, 1)
    })

    test('connects with an existing token, and with one that it must refresh first', async (t) => {
      const issuer = await startIssuer(t)
      const url = await startTenonVault(t, issuer)
      const provider = new HostProvider()
      await logIn(t, official, provider, url)
      const again = await logIn(t, official, provider, url)
      assert.equal(await say(again.client, 'whoami'), 'alice read')
      assert.deepEqual(grantsAt(issuer), ['authorization_code'])
      await expire(issuer, provider, url)
      const later = await logIn(t, official, provider, url)
      assert.equal(await say(later.client, 'whoami'), 'alice read')
      assert.deepEqual(grantsAt(issuer), ['authorization_code', 'refresh_token'])
    })

    test('is rejected with a token for another server', async (t) => {
      const issuer = await startIssuer(t)
      const url = await startTenonVault(t, issuer)
      const provider = new HostProvider()
      const resource = 'http://127.0.0.1:9/mcp'
      const token = await issuer.issueToken({ scope: 'read', resource })
      provider.saveTokens({ access_token: token, token_type: 'Bearer', issuer: issuer.issuer })
      const { client, transport } = official.open(provider, url)
      t.after(() => client.close())
      await assert.rejects(client.connect(transport))
      assert.ok(provider.came?.get('code'), 'the user was not asked')
    })
  })
}

for (const [name, official] of Object.entries(officialClients)) {
  // Over SSE the response arrives on the stream and not as the answer to the POST, so there can be no challenge.
  if (name.endsWith('SSE')) continue
  test(`${name}: asks the user for more scopes when a tool needs them`, async (t) => {
    // v1 would use its refresh token, which cannot grant more scopes, and then fail.
    const issuer = await startIssuer(t, { refreshTokens: name === 'official v1' ? 'never' : 'always' })
    const url = await startTenonVault(t, issuer)
    const provider = new HostProvider()
    const { client, transport } = await logIn(t, official, provider, url)
    await stepUp(client, transport, provider, official)
    assert.equal(await say(client, 'shred'), 'shredded')
    const asked = sentTo(issuer, 'authorize')
    assert.equal(asked.length, 2)
    assert.ok(asked[1].scope.split(' ').includes('shred'))
  })
}

describe('client credentials of the official packages, Tenon server with auth', () => {
  const machine = { clientId: 'machine', clientSecret: 'a secret' }
  const clients = [{ client_id: 'machine', client_secret: 'a secret', grant_types: ['client_credentials'] }]
  for (const [name, official] of Object.entries(officialClients)) {
    const { ClientCredentialsProvider } = name.startsWith('official v1') ? machinesV1 : v2
    test(`${name}: gets a token with a client secret`, async (t) => {
      const issuer = await startIssuer(t, { clients })
      const url = await startTenonVault(t, issuer)
      const expected = { expectedIssuer: issuer.issuer, scope: 'read' }
      const { client } = await logIn(t, official, new ClientCredentialsProvider({ ...machine, ...expected }), url)
      assert.match(await say(client, 'whoami'), / read$/)
      assert.deepEqual(grantsAt(issuer), ['client_credentials'])
    })
  }
})

describe('official v2, Tenon server that requires DPoP', () => {
  for (const nonce of [false, true]) {
    test(`sends a DPoP proof${nonce ? ', with the nonces of both servers' : ''}`, async (t) => {
      const issuer = await startIssuer(t, { dpop: 'required', dpopNonce: nonce })
      const url = await startTenonVault(t, issuer, { dpop: dpop({ nonce, required: true }) })
      const session = await v2.DpopSession.create()
      const provider = new HostProvider({ dpop: () => session })
      const { client } = await logIn(t, officialClients['official v2, 2026-07-28'], provider, url)
      assert.equal(await say(client, 'whoami'), 'alice read')
      assert.equal(await say(client, 'whoami'), 'alice read')
      assert.equal(provider.tokens().token_type.toLowerCase(), 'dpop')
    })
  }
})

test('official v1 over SSE keeps working when its token expires', async (t) => {
  const issuer = await startIssuer(t, { accessTokenSeconds: 2 })
  const verify = jwtVerifier({ issuer: issuer.issuer, clockToleranceSec: 0 })
  const url = await startTenonVault(t, issuer, { verify })
  const { client } = await logIn(t, officialClients['official v1 over SSE'], new HostProvider(), url)
  while (grantsAt(issuer).length < 3) assert.equal(await say(client, 'whoami'), 'alice read')
})

/** Replaces the token by an expired one for the same user and server. */
async function expire(issuer, provider, url) {
  const old = await issuer.issueToken({ scope: 'read', resource: url, expiresIn: -60 })
  provider.saveTokens({ ...provider.tokens(), access_token: old })
}

/** The call fails after the user was asked; the host redeems the code and calls again. */
async function stepUp(client, transport, provider, { finish }) {
  await assert.rejects(say(client, 'shred'))
  assert.ok(provider.came, 'the user was not asked')
  await finish(transport, provider.came)
}

async function say(client, name) {
  const { content } = await client.callTool({ name, arguments: {} })
  return content[0].text
}
