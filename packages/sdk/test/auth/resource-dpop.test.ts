import { generateKeyPair } from 'jose'
import { describe, expect, it } from 'vitest'
import { type DpopOptions, dpop, MemoryReplays } from '../../src/auth/resource/dpop.ts'
import { overHttp, type SendHttp } from '../kit/http-client.ts'
import { Peer } from '../kit/http-peer.ts'
import { eachRevision, httpRevisions, modern } from '../kit/revisions.ts'

import { challengeOf, guarded, now, Prover, protectedServer, sha256, withToken } from './resource-support.ts'

/** A protected server that takes bound tokens, and a client with such a token. */
async function bound(options: DpopOptions = {}, resource?: string) {
  const server = guarded({ onError: () => {} })
  const place = await protectedServer({ server, auth: { dpop: dpop(options), ...(resource && { resource }) } })
  const prover = await Prover.create()
  const token = await place.token({ cnf: { jkt: prover.thumbprint }, ...(resource && { aud: resource }) })
  const ath = await sha256(token)
  const htu = resource ?? place.url
  const present = (proof: string | string[], scheme = 'DPoP') =>
    new Peer(place.url, modern, { headers: { authorization: `${scheme} ${token}`, dpop: proof as string } })
  return {
    ...place,
    unbound: place.token,
    prover,
    token,
    htu,
    ath,
    good: (claims: object = {}) => prover.proof({ htu, ath, ...claims }),
    /** Calls a tool with this proof. */
    async call(proof: string | string[], scheme?: string) {
      await using peer = present(proof, scheme)
      const answer = await peer.call('who')
      await answer.text()
      return answer
    },
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  }
}

describe('DPoP-bound tokens', () => {
  eachRevision(httpRevisions, 'accepts a bound token with a fresh proof for each request', async (revision) => {
    await using place = await bound()
    const plain = overHttp(place.url)
    const proving: SendHttp = async (ask) => {
      const proof = await place.good({ htm: ask.method })
      return plain({ ...ask, headers: { ...ask.headers, authorization: `DPoP ${place.token}`, dpop: proof } })
    }
    await using peer = await Peer.open(proving, revision)
    expect(JSON.parse((await peer.textOf('who'))!)).toMatchObject({ subject: 'ann' })
    const seen = await peer.textOf('headers')
    expect(seen).toContain('[null,null')
    expect(seen).not.toContain(place.token)
  })

  it('refuses a bound token as a bearer token, with or without a proof [AUTH-012]', async () => {
    await using place = await bound()
    for (const proof of [await place.good(), 'none']) {
      const answer = await place.call(proof, 'Bearer')
      expect(answer.status).toBe(401)
      expect(challengeOf(answer, 'DPoP')).toMatchObject({ error: 'invalid_token' })
    }
  })

  it('refuses a bound token where DPoP is not supported [AUTH-012]', async () => {
    await using place = await protectedServer()
    const token = await place.token({ cnf: { jkt: 'x' } })
    for (const scheme of ['Bearer', 'DPoP']) {
      await using peer = new Peer(place.url, modern, { headers: { authorization: `${scheme} ${token}` } })
      const answer = await peer.call('who')
      expect(answer.status).toBe(401)
      expect(challengeOf(answer, 'Bearer').error).toBe('invalid_token')
    }
  })

  it.each([-280, 280])('accepts a proof whose clock is off by %s seconds', async (offset) => {
    await using place = await bound()
    expect((await place.call(await place.good({ iat: Math.floor(Date.now() / 1000) + offset }))).status).toBe(200)
  })

  it('accepts an equivalent URL in the proof: query, fragment, capitals, default port', async () => {
    await using place = await bound({}, 'https://mcp.example.com/mcp')
    for (const htu of [
      'HTTPS://MCP.Example.com:443/mcp',
      'https://mcp.example.com/mcp?x=1#y',
      'https://mcp.example.com/a/../mcp',
    ]) {
      expect((await place.call(await place.good({ htu }))).status).toBe(200)
    }
  })
})

describe('refused proofs', () => {
  const cases: Record<string, (place: Awaited<ReturnType<typeof bound>>) => Promise<string | string[]>> = {
    'when it is none': async () => 'x',
    'when there are two': async (place) => [await place.good(), await place.good()],
    'for another method': (place) => place.good({ htm: 'GET' }),
    'without a method': (place) => place.good({ htm: undefined }),
    'for another path': (place) => place.good({ htu: `${place.origin}/other` }),
    'for another host': (place) => place.good({ htu: 'https://mcp.example.com/mcp' }),
    'for no URL at all': (place) => place.good({ htu: '/mcp' }),
    'for another token': async (place) => place.good({ ath: await sha256('another') }),
    'without the hash of the token': (place) => place.good({ ath: undefined }),
    'that is too old': (place) => place.good({ iat: now() - 320 }),
    'from the future': (place) => place.good({ iat: now() + 320 }),
    'without a time': (place) => place.good({ iat: undefined }),
    'without an id': (place) => place.good({ jti: undefined }),
    'with an endless id': (place) => place.good({ jti: 'j'.repeat(1_000) }),
    'of another type': (place) => place.prover.proof({ htu: place.htu, ath: place.ath }, { typ: 'JWT' }),
    'without a key': (place) => place.prover.proof({ htu: place.htu, ath: place.ath }, { jwk: undefined }),
    'with a private key in it': async (place) =>
      place.prover.proof({ htu: place.htu, ath: place.ath }, { jwk: await place.prover.privateJwk() }),
    'by a key other than the one that it shows': async (place) => {
      const { privateKey } = await generateKeyPair('ES256')
      return place.prover.proof({ htu: place.htu, ath: place.ath }, {}, privateKey)
    },
    'by a key other than the one of the token': async (place) =>
      (await Prover.create()).proof({ htu: place.htu, ath: place.ath }),
    'that is signed by a shared secret': async (place) => {
      const key = new TextEncoder().encode('0123456789abcdef0123456789abcdef')
      const jwk = { kty: 'oct', k: Buffer.from(key).toString('base64url') }
      return place.prover.proof({ htu: place.htu, ath: place.ath }, { alg: 'HS256', jwk }, key as never)
    },
    'that is not signed': async (place) => {
      const text = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
      const claims = { htm: 'POST', htu: place.htu, ath: place.ath, iat: now(), jti: 'j' }
      return `${text({ alg: 'none', typ: 'dpop+jwt', jwk: place.prover.jwk })}.${text(claims)}.`
    },
  }

  it.each(Object.keys(cases))('refuses a proof: %s [AUTH-012]', async (name) => {
    await using place = await bound()
    const answer = await place.call(await cases[name]!(place))
    expect(answer.status).toBe(401)
    expect(challengeOf(answer, 'DPoP')).toMatchObject({
      error: 'invalid_dpop_proof',
      algs: 'ES256 EdDSA PS256 RS256',
      resource_metadata: `${place.origin}/.well-known/oauth-protected-resource/mcp`,
    })
    expect((await place.call(await place.good())).status).toBe(200)
  })

  it('refuses a request without a proof [AUTH-012]', async () => {
    await using place = await bound()
    await using peer = new Peer(place.url, modern, { headers: { authorization: `DPoP ${place.token}` } })
    expect(challengeOf(await peer.call('who'), 'DPoP').error).toBe('invalid_dpop_proof')
  })

  it('refuses a reused proof [AUTH-012]', async () => {
    await using place = await bound()
    const proof = await place.good()
    const answers = await Promise.all([place.call(proof), place.call(proof), place.call(proof)])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401])
  })

  it('refuses a proof reused at another process that shares the replay cache [AUTH-012]', async () => {
    const memory = new MemoryReplays()
    const replays = { add: async (key: string, until: number) => memory.add(key, until) }
    const prover = await Prover.create()
    const htu = 'https://mcp.example.com/mcp'
    const proof = await prover.proof({ htu, ath: await sha256('t') })
    const request = { method: 'POST', urls: [htu], header: () => proof, isFor: () => true }
    const check = () => dpop({ replays }).check(request, 't', prover.thumbprint)
    expect((await check()).problem).toBeUndefined()
    expect((await check()).problem?.error).toBe('invalid_dpop_proof')
  })

  it('refuses proofs when the replay cache is full, instead of forgetting early', async () => {
    await using place = await bound({ replays: new MemoryReplays(1) })
    const proof = await place.good()
    expect((await place.call(proof)).status).toBe(200)
    expect((await place.call(await place.good())).status).toBe(503)
    expect((await place.call(proof)).status).toBe(401)
  })
})

describe('the replay cache', () => {
  it('drops proofs that are too old to be accepted', () => {
    const replays = new MemoryReplays(2)
    const past = Date.now() - 1
    expect(replays.add('a', past)).toBe(true)
    expect(replays.add('a', Date.now() + 60_000)).toBe(true)
    expect(replays.add('b', past)).toBe(true)
    expect(replays.add('c', Date.now() + 60_000)).toBe(true)
    expect(replays.add('a', Date.now() + 60_000)).toBe(false)
    expect(() => replays.add('d', Date.now())).toThrow('Too many')
  })
})

describe('DPoP challenges', () => {
  it('offers both schemes where either works, and DPoP alone where it is required', async () => {
    await using either = await bound()
    await using peer = new Peer(either.url, modern)
    const answer = await peer.call('who')
    expect(challengeOf(answer, 'Bearer').resource_metadata).toBeDefined()
    expect(challengeOf(answer, 'DPoP').algs).toContain('ES256')
    await using strict = await bound({ required: true, algorithms: ['ES256'] })
    await using other = new Peer(strict.url, modern, withToken(await strict.unbound()))
    const refused = await other.call('who')
    expect(refused.status).toBe(401)
    expect(refused.headers['www-authenticate']).toMatch(/^DPoP /)
    const metadata = await overHttp(strict.url)({ method: 'GET', path: '/.well-known/oauth-protected-resource' })
    expect(await metadata.json()).toMatchObject({
      dpop_signing_alg_values_supported: ['ES256'],
      dpop_bound_access_tokens_required: true,
    })
  })

  it('accepts unbound bearer tokens where allowed, but not with the wrong scheme', async () => {
    await using place = await bound()
    const token = await place.unbound()
    await using peer = new Peer(place.url, modern, withToken(token))
    expect((await peer.call('who')).status).toBe(200)
    const proof = await place.good({ ath: await sha256(token) })
    await using odd = new Peer(place.url, modern, { headers: { authorization: `DPoP ${token}`, dpop: proof } })
    expect((await odd.call('who')).status).toBe(401)
  })

  it('uses the scheme of the request in the challenge of a tool that needs more scopes [AUTH-075]', async () => {
    await using place = await bound()
    await using peer = new Peer(place.url, modern, {
      headers: { authorization: `DPoP ${place.token}`, dpop: await place.good() },
    })
    const answer = await peer.call('delete')
    expect(answer.status).toBe(403)
    expect(challengeOf(answer, 'DPoP')).toMatchObject({ error: 'insufficient_scope', scope: 'files:read files:delete' })
  })
})

describe('DPoP nonces', () => {
  it('requests, issues, accepts and renews nonces', async () => {
    await using place = await bound({ nonce: true })
    const first = await place.call(await place.good())
    expect(first.status).toBe(401)
    expect(challengeOf(first, 'DPoP').error).toBe('use_dpop_nonce')
    const nonce = first.headers['dpop-nonce']
    expect(nonce).toBeDefined()
    const second = await place.call(await place.good({ nonce }))
    expect(second.status).toBe(200)
    expect(second.headers['dpop-nonce']).toBeDefined()
    expect(challengeOf(await place.call(await place.good({ nonce: 'made-up' })), 'DPoP').error).toBe('use_dpop_nonce')
  })

  it('accepts a proof again with a nonce after it was refused without one', async () => {
    await using place = await bound({ nonce: true })
    const jti = 'the-same'
    const { headers } = await place.call(await place.good({ jti }))
    expect((await place.call(await place.good({ jti, nonce: headers['dpop-nonce'] }))).status).toBe(200)
  })

  it('accepts nonces of another process with the same secret only', async () => {
    const secret = 'a secret of many bytes'
    await using one = await bound({ nonce: { secret } })
    await using two = await bound({ nonce: { secret } })
    await using other = await bound({ nonce: true })
    const { headers } = await one.call(await one.good())
    const nonce = headers['dpop-nonce']
    expect((await two.call(await two.good({ nonce }))).status).toBe(200)
    expect((await other.call(await other.good({ nonce }))).status).toBe(401)
  })

  it('refuses a nonce secret that is too short', () => {
    expect(() => dpop({ nonce: { secret: 'short' } })).toThrow('16 bytes')
  })
})
