import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import { movableDate } from '../../../test/kit/time.ts'
import { sha256 } from '../../util/base64url.ts'
import { type DpopOptions, dpop, MemoryReplays, Nonces } from './dpop.ts'

const url = 'https://mcp.example/mcp'
let thumbprint = ''
let sign: (claims: object) => Promise<string>
beforeAll(async () => {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const jwk = await exportJWK(publicKey)
  thumbprint = await calculateJwkThumbprint(jwk)
  const ath = await sha256('t')
  sign = (claims) =>
    new SignJWT({ htm: 'POST', htu: url, iat: Math.floor(Date.now() / 1_000), jti: 'j', ath, ...claims })
      .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk })
      .sign(privateKey)
})

/** Checks one proof, or the header as it is. */
async function check(given: object | string | undefined, options: DpopOptions = {}) {
  const header = typeof given === 'object' ? await sign(given) : given
  const request = { method: 'POST', urls: ['https://other.example', url], header: () => header, isFor: () => true }
  return dpop(options).check(request, 't', thumbprint)
}

describe('the proof of a key', () => {
  it('is accepted', async () => {
    expect(await check({})).toEqual({})
    expect(await check({ jti: 'j'.repeat(256), htu: `${url}?a#b` })).toEqual({})
  })

  it.each<[string, object | string | undefined, string]>([
    ['missing', undefined, 'The DPoP header is missing.'],
    ['sent twice', 'a,b', 'Send exactly one DPoP header.'],
    ['malformed', 'a', 'The DPoP proof is malformed, or its signature is not valid.'],
    ['without an id', { jti: undefined }, 'The DPoP proof has no valid jti.'],
    ['with an empty id', { jti: '' }, 'The DPoP proof has no valid jti.'],
    ['with a number as id', { jti: 7 }, 'The DPoP proof has no valid jti.'],
    ['with a long id', { jti: 'j'.repeat(257) }, 'The DPoP proof has no valid jti.'],
    ['for another method', { htm: 'GET' }, 'The DPoP proof is for another method.'],
    ['for another URL', { htu: `${url}/x` }, 'The DPoP proof is for another URL.'],
    ['for no URL', { htu: undefined }, 'The DPoP proof is for another URL.'],
    ['for another token', { ath: 'x' }, 'The DPoP proof is for another access token.'],
  ])('is refused if it is %s [AUTH-012]', async (_, given, description) => {
    expect(await check(given)).toEqual({ problem: { error: 'invalid_dpop_proof', description } })
  })

  it('is refused from another key', async () => {
    const request = { method: 'POST', urls: [url], header: () => proof, isFor: () => true }
    const proof = await sign({})
    expect(await dpop().check(request, 't', 'another')).toMatchObject({
      problem: { description: 'The DPoP proof is signed with another key than the one the access token is bound to.' },
    })
  })

  it('is accepted for five minutes before and after its time, or as long as configured [AUTH-012]', async () => {
    const time = movableDate()
    const now = Math.ceil(Date.now() / 1_000)
    time.advance(now * 1_000 - Date.now())
    const isAccepted = async (iat: number, options?: DpopOptions) => !(await check({ iat }, options)).problem
    expect(await Promise.all([-301, -300, 300, 301].map((offset) => isAccepted(now + offset)))).toEqual([
      false,
      true,
      true,
      false,
    ])
    expect(await isAccepted(now - 10, { maxAgeSec: 10 })).toBe(true)
    expect(await isAccepted(now - 11, { maxAgeSec: 10 })).toBe(false)
  })

  it('is used once, and remembered until it is too old', async () => {
    const seen: unknown[] = []
    const keys = new Set<string>()
    const replays = {
      async add(key: string, until: number) {
        seen.push(until)
        const isNew = !keys.has(key)
        keys.add(key)
        return isNew
      },
    }
    const iat = Math.floor(Date.now() / 1_000)
    expect(await check({ iat }, { replays })).toEqual({})
    expect(await check({ iat }, { replays })).toEqual({
      problem: { error: 'invalid_dpop_proof', description: 'The DPoP proof has already been used.' },
    })
    expect(seen).toEqual([(iat + 301) * 1_000, (iat + 301) * 1_000])
    expect([...keys]).toEqual([`${thumbprint} j`])
    await check({ ath: 'wrong' }, { replays })
    expect(seen).toHaveLength(2)
  })
})

describe('nonces', () => {
  const secret = 's'.repeat(16)

  it('are required, and sent with every answer', async () => {
    movableDate()
    const nonce = await new Nonces(secret).current()
    const options = { nonce: { secret } }
    expect(await check({}, options)).toEqual({
      problem: { error: 'use_dpop_nonce', description: expect.any(String) },
      nonce,
    })
    expect(await check({ nonce }, options)).toEqual({ nonce })
    expect(await check({ nonce, jti: '' }, options)).toMatchObject({ problem: { error: 'invalid_dpop_proof' }, nonce })
    expect(await check({ nonce }, { nonce: true })).toMatchObject({ problem: { error: 'use_dpop_nonce' } })
  })

  it('are accepted in their period and the next', async () => {
    const time = movableDate()
    time.advance(120_000 - (Date.now() % 120_000))
    const nonces = new Nonces(secret)
    const nonce = await nonces.current()
    time.advance(119_999)
    expect(await nonces.current()).toBe(nonce)
    time.advance(120_000)
    expect(await nonces.accepts(nonce)).toBe(true)
    time.advance(1)
    expect(await nonces.accepts(nonce)).toBe(false)
    expect(await nonces.accepts(undefined)).toBe(false)
  })

  it('need a secret of 16 bytes', () => {
    expect(() => new Nonces('s'.repeat(15))).toThrow('nonce.secret must have at least 16 bytes.')
    expect(() => new Nonces('ä'.repeat(8))).not.toThrow()
  })
})

it('remembers used proofs until their time, and refuses new ones when it is full', () => {
  const time = movableDate()
  const replays = new MemoryReplays(2)
  const now = Date.now()
  expect(replays.add('a', now + 10)).toBe(true)
  expect(replays.add('a', now + 10)).toBe(false)
  expect(replays.add('b', now + 20)).toBe(true)
  expect(() => replays.add('c', now + 20)).toThrow('Too many DPoP proofs at once. Try again later.')
  time.advance(9)
  expect(replays.add('a', now + 30)).toBe(false)
  expect(() => replays.add('c', now + 20)).toThrow('Too many')
  time.advance(1)
  expect(replays.add('c', now + 40)).toBe(true)
  expect(replays.add('b', now + 40)).toBe(false)
  time.advance(10)
  expect(replays.add('b', now + 40)).toBe(true)
})

it('accepts signatures with public keys only', () => {
  expect(dpop({ algorithms: ['ES384'], required: true })).toMatchObject({ algorithms: ['ES384'], required: true })
  expect(dpop()).toMatchObject({ algorithms: ['ES256', 'EdDSA', 'PS256', 'RS256'], required: false })
  expect(() => dpop({ algorithms: ['HS256'] })).toThrow('Algorithm not accepted: "HS256".')
})
