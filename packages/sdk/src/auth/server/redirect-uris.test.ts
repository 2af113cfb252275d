import { describe, expect, it } from 'vitest'
import {
  checkRedirectUris,
  checkSchemes,
  chooseRedirectUri,
  displayHostOf,
  isLoopbackRedirect,
} from './redirect-uris.ts'

describe('the redirect URI of a request', () => {
  const one = ['https://app.example/back']
  const native = ['http://127.0.0.1:7/back']

  it('is the only one of the client by default, and must be given if there are several', () => {
    expect(chooseRedirectUri(one, undefined, 'web')).toBe(one[0])
    const several = () => chooseRedirectUri([...one, ...native], undefined, 'native')
    expect(several).toThrow(
      expect.objectContaining({ errorCode: 'invalid_request', message: 'The redirect_uri is missing.' }),
    )
    expect(() => chooseRedirectUri([], undefined, 'web')).toThrow('The redirect_uri is missing.')
  })

  it.each([
    [one, 'https://app.example/back', 'web', true],
    [one, 'https://app.example/back/', 'web', false],
    [one, 'https://app.example:444/back', 'native', false],
    [native, 'http://127.0.0.1:9999/back', 'native', true],
    [native, 'http://127.0.0.1/back', undefined, true],
    [native, 'http://127.0.0.1:99999/back', 'native', false],
    [native, 'http://127.0.0.1:9999/back', 'web', false],
    [native, 'http://127.0.0.1:9/other', 'native', false],
    [native, 'http://localhost:9/back', 'native', false],
    [native, 'https://127.0.0.1:9/back', 'native', false],
    [native, 'http://127.0.0.1:9@evil.example/back', 'native', false],
    [['http://localhost/back?x=1'], 'http://localhost:9/back?x=1', 'native', true],
    [['http://[::1]/back'], 'http://[::1]:9/back', 'native', true],
  ])('of a client with %j may be %s (%s): %s', (registered, given, type, isAllowed) => {
    const choose = () => chooseRedirectUri(registered, given, type)
    if (isAllowed) expect(choose()).toBe(given)
    else expect(choose).toThrow('The redirect_uri is not registered for this client.')
  })
})

describe('a client that registers itself', () => {
  it.each([
    [['https://app.example/back'], 'web', undefined],
    [['http://127.0.0.1/back', 'http://localhost:7/'], 'native', undefined],
    [['com.example.app:/back'], 'native', undefined],
    [[], 'web', 'at least one'],
    ['https://app.example/', 'web', 'at least one'],
    [['https://app.example/', '/back'], 'web', 'absolute'],
    [['https://app.example/ back'], 'web', 'absolute'],
    [['https://app.example/\nback'], 'web', 'absolute'],
    [[1], 'web', 'absolute'],
    [['http://app.example/back'], 'web', 'https'],
    [['javascript:alert(1)'], 'web', 'https'],
    [['https://app.example/#a'], 'web', 'fragment'],
    [['https://user@app.example/'], 'web', 'user name'],
    [['https://:secret@app.example/'], 'web', 'password'],
    [['http://127.0.0.1/back'], 'web', 'loopback'],
  ])('may use %j as a %s application, or is told: %s', (uris, type, problem) => {
    const check = () => checkRedirectUris(uris, type, ['com.example.app'])
    if (problem === undefined) expect(check()).toEqual(uris)
    else
      expect(check).toThrow(
        expect.objectContaining({ errorCode: 'invalid_redirect_uri', message: expect.stringContaining(problem) }),
      )
  })

  it('may use schemes of applications only if they are not those of browsers', () => {
    expect(checkSchemes(['com.example.app', 'my-app'], 'here')).toEqual(['com.example.app', 'my-app'])
    for (const scheme of ['https', 'http', 'javascript', 'data', 'file', 'Upper', '1app', '']) {
      expect(() => checkSchemes([scheme], 'here')).toThrow(`here: ${JSON.stringify(scheme)} is not a scheme`)
    }
  })
})

it('shows users where a redirect goes', () => {
  expect(displayHostOf('https://app.example:8443/back')).toBe('app.example:8443')
  expect(displayHostOf('com.example.app:/back')).toBe('com.example.app')
  expect([isLoopbackRedirect('http://127.0.0.1/'), isLoopbackRedirect('https://127.0.0.1/')]).toEqual([true, false])
  expect(isLoopbackRedirect('http://app.example/')).toBe(false)
})
