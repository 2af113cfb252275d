import type { AuthInfo } from 'tenon/auth'
import { describe, expect, it } from 'vitest'
import { modern, Peer, serve, workshop } from '../http/support.ts'

/** Who has the token `alice` is Alice; counts how often it was asked. */
function checked() {
  const seen: string[] = []
  const verify = (token: string): AuthInfo | undefined => {
    seen.push(token)
    return token === 'alice' || token === 'bob' ? { clientId: token, scopes: [] } : undefined
  }
  return { seen, auth: { verify, authorizationServers: ['https://as.example'] } }
}

async function statuses(url: string, token: string, count: number): Promise<number[]> {
  await using peer = new Peer(url, modern, { headers: { authorization: `Bearer ${token}` } })
  const found: number[] = []
  for (let each = 0; each < count; each++) found.push((await peer.call('echo')).status)
  return found
}

describe('a flood of bad tokens', () => {
  // So slow that nothing comes back while the test runs.
  const slow = 0.001

  it('is refused by address before any token is checked', async () => {
    const { seen, auth } = checked()
    await using http = await serve(workshop(), { auth, rateLimit: { perSecond: 1_000, addressPerSecond: 0.5 } })
    const found = await statuses(http.url, 'guess', 8)
    expect(found[0]).toBe(401)
    expect(found).toContain(429)
    expect(seen.length).toBe(found.filter((status) => status === 401).length)
  })

  it('takes nothing from who has a good one, where only callers are counted', async () => {
    const { auth } = checked()
    await using http = await serve(workshop(), { auth, rateLimit: { perSecond: slow, burst: 2 } })
    expect(await statuses(http.url, 'guess', 5)).toEqual([401, 401, 401, 401, 401])
    expect(await statuses(http.url, 'alice', 3)).toEqual([200, 200, 429])
    expect(await statuses(http.url, 'bob', 3)).toEqual([200, 200, 429])
  })

  it('needs a limit that makes sense', async () => {
    await expect(serve(workshop(), { rateLimit: { perSecond: 1, addressPerSecond: 0 } })).rejects.toThrow(
      /addressPerSecond/,
    )
  })
})
