import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { checkSecrets } from '../../src/auth/broker/settings.ts'
import { ResourceMetadata } from '../../src/auth/resource/metadata.ts'
import { principalFor } from '../../src/auth/resource/principal.ts'
import { TokenCheck } from '../../src/auth/resource/token-check.ts'

/** What developers are warned of. Each warning is given once in a process, so each has one test. */
function warnings(): string[] {
  const given: string[] = []
  const spy = vi.spyOn(console, 'warn').mockImplementation((text: string) => void given.push(text))
  onTestFinished(() => spy.mockRestore())
  return given
}

describe('operators are warned once', () => {
  it('of a resource over http, unless it is on this machine [AUTH-089]', () => {
    const given = warnings()
    const authorizationServers = ['https://as.example']
    new ResourceMetadata({ authorizationServers, resource: 'http://localhost:1/mcp' })
    new ResourceMetadata({ authorizationServers, resource: 'https://mcp.example/mcp' })
    expect(given).toEqual([])
    new ResourceMetadata({ authorizationServers, resource: 'http://insecure.example/mcp' })
    new ResourceMetadata({ authorizationServers, resource: 'http://insecure.example/mcp' })
    expect(given).toEqual([
      '[tenon] auth.resource is http://insecure.example: access tokens are sent unencrypted over http. Use https.',
    ])
  })

  it('of callers that cannot be told apart [TASK-050]', () => {
    const given = warnings()
    expect(principalFor({ email: 'e' }, undefined)).toBeDefined()
    expect(given).toEqual([])
    for (const auth of [{ clientId: 'c' }, 'ann', { user: {} }]) expect(principalFor(auth, undefined)).toBeUndefined()
    expect(given).toEqual([expect.stringContaining('Set `principal` to tell callers apart.')])
  })

  it('of a broker without secrets', () => {
    const given = warnings()
    expect(checkSecrets(['s'.repeat(32)])).toEqual(['s'.repeat(32)])
    expect(given).toEqual([])
    expect(checkSecrets(undefined)).toEqual([])
    expect(given).toEqual([expect.stringContaining('`secrets` is not set')])
  })

  it('of a verifier that throws, unless the error says that the token is invalid or is a mistake in the program', async () => {
    const given = warnings()
    const request = { method: 'POST', urls: [], header: () => 'Bearer t', isFor: () => true }
    const check = (error: unknown) => {
      const context = { request, metadataUrl: undefined, reportError: () => {} }
      return new TokenCheck({ verify: () => Promise.reject(error) }).check({ url: '/' }, context)
    }
    await check(new TypeError('x is not a function'))
    await check(Object.assign(new Error('no'), { code: 'invalid_token' }))
    expect(given).toEqual([])
    await check(new Error('expired'))
    expect(given).toEqual([expect.stringContaining('auth.verify threw an error, which was answered with 503')])
  })
})
