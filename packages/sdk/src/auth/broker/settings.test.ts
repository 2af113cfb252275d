import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { BrokerOptions } from './options.ts'
import { checkSecrets, resolveOptions } from './settings.ts'

const resource = 'https://mcp.example/mcp'
const resolve = (options: Partial<BrokerOptions> = {}) =>
  resolveOptions({ resource, upstream: {} as never, ...options })

describe('the options of a broker', () => {
  it('have defaults', () => {
    expect(resolve()).toEqual({
      resource,
      resourceName: 'mcp.example',
      issuer: 'https://mcp.example',
      callbackPath: '/callback',
      callbackUrl: 'https://mcp.example/callback',
      scopes: new Map(),
      defaultScopes: [],
      redirectSchemes: [],
      trustedClientHosts: undefined,
      accessTokenSeconds: 3_600,
      refreshTokenSeconds: 2_592_000,
      maxPending: 2_000,
      reportError: expect.any(Function),
    })
  })

  it('replace the defaults', () => {
    const given = {
      resourceName: 'Notes',
      callbackPath: '/a/b',
      redirectSchemes: ['cursor'],
      trustedClientHosts: ['*.app.example'],
      accessTokenSeconds: 1,
      refreshTokenSeconds: 5,
      maxPending: 7,
    }
    const issuer = 'http://localhost:1/base/'
    const expected = { ...given, issuer: 'http://localhost:1/base', callbackUrl: 'http://localhost:1/base/a/b' }
    expect(resolve({ ...given, issuer, resource: new URL(resource) })).toMatchObject({ ...expected, resource })
  })

  it('grant the required scopes by default, or all if none are required', () => {
    const scopes = { a: 'A', b: 'B' }
    expect(resolve({ scopes }).defaultScopes).toEqual(['a', 'b'])
    expect(resolve({ scopes, requiredScopes: ['b'] }).defaultScopes).toEqual(['b'])
    expect(resolve({ scopes, requiredScopes: [] }).defaultScopes).toEqual([])
  })

  it.each<[Partial<BrokerOptions>, string]>([
    [{ resource: 'http://mcp.example/mcp' }, 'broker: resource must be an https: URL'],
    [{ resource: 'mcp' }, 'broker: resource must be an https: URL'],
    [{ resource: `${resource}#x` }, 'broker: resource must not have a fragment.'],
    [{ resource: `${resource}#` }, 'broker: resource must not have a fragment.'],
    [{ issuer: 'http://mcp.example' }, 'broker: issuer must be an https: URL'],
    [{ issuer: 'https://mcp.example/?a' }, 'broker: issuer must not have a query or a fragment.'],
    [{ issuer: 'https://mcp.example/#a' }, 'broker: issuer must not have a query or a fragment.'],
    [{ callbackPath: 'callback' }, "broker: callbackPath must be a path such as '/callback'."],
    [{ callbackPath: '/' }, "broker: callbackPath must be a path such as '/callback'."],
    [{ callbackPath: '/a?b' }, "broker: callbackPath must be a path such as '/callback'."],
    [{ accessTokenSeconds: 0 }, 'broker: accessTokenSeconds must be between 1 and 3,600.'],
    [{ accessTokenSeconds: 3_601 }, 'broker: accessTokenSeconds must be between 1 and 3,600.'],
    [{ accessTokenSeconds: Number.NaN }, 'broker: accessTokenSeconds must be between 1 and 3,600.'],
    [{ scopes: { a: 'A' }, requiredScopes: ['a', 'b'] }, 'broker: scopes must describe the required scope b.'],
    [{ trustedClientHosts: ['*'] }, 'broker: trustedClientHosts: "*" is not a host.'],
    [{ redirectSchemes: ['http'] }, 'broker: redirectSchemes'],
  ])('are refused: %o', (options, message) => {
    expect(() => resolve(options)).toThrow(message)
  })
})

it.each([[[]], [['s'.repeat(31)]], [['s'.repeat(32), 'short']], [[{ length: 32 }]]])(
  'refuses the secrets %o',
  (secrets) => {
    expect(() => checkSecrets(secrets as string[])).toThrow(
      'broker: secrets must be strings of at least 32 random characters, newest first.',
    )
  },
)

it('reports errors without secrets to the operator, by default on stderr without control characters', () => {
  const errors: unknown[] = []
  const failure = Object.assign(new Error('no\nroute'), { token: 'secret', code: 'EX' })
  resolve({ onError: (error) => errors.push(error) }).reportError(failure)
  expect(errors).toMatchObject([{ message: 'no route', code: 'EX' }])
  expect(errors[0]).not.toHaveProperty('token')
  const spy = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => spy.mockRestore())
  resolve().reportError(new Error('a\u2028b\u202ec'))
  expect(spy.mock.calls).toEqual([['[tenon] broker:', 'a b c']])
})
