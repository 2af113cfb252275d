import { describe, expect, it } from 'vitest'
import { issuerOf, principalFor, principalOf, subjectOf, userMembersOf } from './principal.ts'

const header = (value?: string) => (name: string) => (name === 'authorization' ? value : undefined)

describe('the principal', () => {
  it.each([
    ['the subject', { sub: 's', iss: 'i', userId: 'u' }, ['i', 'subject', 's']],
    ['the subject by its long name first', { subject: 'a', sub: 'b' }, [null, 'subject', 'a']],
    [
      'the subject one level down',
      { claims: { sub: 's', iss: new URL('https://as.example/') } },
      ['https://as.example/', 'subject', 's'],
    ],
    ['the subject as a number', { sub: 7 }, [null, 'subject', 7]],
    ['a user id', { uid: 'u', email: 'e' }, [null, 'user', null, null, null, 'u', null]],
    ['the id of a user object', { user: { id: 5 } }, [null, 'user', null, null, null, null, 5]],
    ['a description', { email: 'e', azp: 'c' }, [null, 'about', 'c', null, 'e', null, null]],
  ])('is %s [SESS-014]', (_, auth, principal) => {
    expect(principalFor(auth, undefined)).toBe(JSON.stringify(principal))
  })

  it('without a user id is the holder of the token, and its description [SESS-014]', async () => {
    const one = await principalFor({ email: 'e', client_id: 'c' }, 't')
    expect(JSON.parse(one)).toEqual([null, 'token', expect.stringMatching(/^[\w-]{43}$/), 'c', null, 'e', null, null])
    expect(await principalFor({ email: 'f', client_id: 'c' }, 't')).not.toBe(one)
    expect(await principalFor({ email: 'e', client_id: 'c' }, 'u')).not.toBe(one)
  })

  it('with a subject does not depend on the token [SESS-014]', () => {
    expect(principalFor({ sub: 's' }, 'one')).toBe(principalFor({ sub: 's' }, 'two'))
  })

  it.each([
    ['an empty subject', { sub: '', uid: 'u' }],
    ['a rounded subject', { sub: 2 ** 53, uid: 'u' }],
    ['an object as subject', { sub: {}, uid: 'u' }],
  ])('is not %s', (_, auth) => {
    expect(principalFor(auth, undefined)).toContain('"user"')
  })
})

describe('the principal of a request', () => {
  it('is missing without auth', () => {
    for (const auth of [undefined, null]) expect(principalOf({ auth, header: header('Bearer t') })).toBeUndefined()
  })

  it('is that of every token that the request has [SESS-014]', async () => {
    const of = (auth: unknown, authorization?: string) => principalOf({ auth, header: header(authorization) })
    const placeholder = await of({ token: 'x' }, 'Bearer a')
    expect(placeholder).not.toBe(await of({ token: 'x' }, 'Bearer b'))
    expect(await of({ token: 'a' }, 'Bearer a')).toBe(await of({ token: 'a' }))
    expect(await of({ token: 'a' })).toBe(await of({}, 'Bearer a'))
    expect(await of(true, 'DPoP a')).toBe(await of({}, 'Bearer a'))
    expect(await of({ token: '' }, 'Bearer a')).toBe(await of({}, 'Bearer a'))
    expect(await of({ token: 7 }, 'Bearer a')).toBe(await of({}, 'Bearer a'))
  })
})

it('finds subject, issuer and the members of a user', () => {
  expect([subjectOf({ extra: { sub: 's' } }), subjectOf({ sub: 7 }), subjectOf(undefined)]).toEqual([
    's',
    undefined,
    undefined,
  ])
  expect([issuerOf({ payload: { iss: 'i' } }), issuerOf({ issuer: 7 }), issuerOf({})]).toEqual(['i', '7', undefined])
  const members = { sub: 's', iss: 'i', uid: 'u', email: 'e', payload: {} }
  expect(userMembersOf({ ...members, clientId: 'c', extra: {}, claims: {}, token: 't' })).toEqual(members)
})
