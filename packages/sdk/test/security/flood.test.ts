import { once } from 'node:events'
import { connect as connectSocket, type Socket } from 'node:net'
import type { AuthInfo } from 'tenon/auth/server'
import { describe, expect, it } from 'vitest'
import { Peer } from '../kit/http-peer.ts'
import { modern } from '../kit/revisions.ts'
import { serve } from '../kit/serve-http.ts'
import { workshop } from '../kit/workshop.ts'

/** Accepts the tokens `alice` and `bob`, and records every token that was verified. */
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
  // So slow that no token is refilled while the test runs.
  const slow = 0.001

  it('limits bad tokens by address, and does not verify tokens beyond the limit', async () => {
    const { seen, auth } = checked()
    await using http = await serve(workshop(), { auth, rateLimit: { perSecond: 1_000, addressPerSecond: 0.5 } })
    const found = await statuses(http.url, 'guess', 8)
    expect(found[0]).toBe(401)
    expect(found).toContain(429)
    expect(seen.length).toBe(found.filter((status) => status === 401).length)
  })

  it('limits callers with valid tokens separately from bad tokens if there is no limit by address', async () => {
    const { auth } = checked()
    await using http = await serve(workshop(), { auth, rateLimit: { perSecond: slow, burst: 2 } })
    expect(await statuses(http.url, 'guess', 5)).toEqual([401, 401, 401, 401, 401])
    expect(await statuses(http.url, 'alice', 3)).toEqual([200, 200, 429])
    expect(await statuses(http.url, 'bob', 3)).toEqual([200, 200, 429])
  })

  it('refuses a limit of zero', async () => {
    await expect(serve(workshop(), { rateLimit: { perSecond: 1, addressPerSecond: 0 } })).rejects.toThrow(
      /addressPerSecond/,
    )
  })
})

describe('large unfinished request bodies', () => {
  const head = [
    'POST /mcp HTTP/1.1',
    'host: 127.0.0.1',
    'content-type: application/json',
    'accept: application/json, text/event-stream',
    'content-length: 200000',
  ]

  /** Sends half of a body and returns the connection. `answer` resolves with the response when the server closes it. */
  function half(url: string): { answer: Promise<string>; socket: Socket } {
    const socket = connectSocket(Number(new URL(url).port), '127.0.0.1')
    let text = ''
    const answer = new Promise<string>((resolve) => {
      socket.on('data', (chunk) => {
        text += chunk
      })
      socket.on('error', () => {})
      socket.on('close', () => resolve(text))
    })
    socket.write(`${head.join('\r\n')}\r\n\r\n"${'a'.repeat(100_000)}`)
    return { answer, socket }
  }

  it('refuses large bodies once maxIncomingBytes have arrived, and answers small requests', async () => {
    await using http = await serve(workshop(), { maxIncomingBytes: 350_000 })
    const halves = Array.from({ length: 4 }, () => half(http.url))
    const refused = await Promise.race(halves.map(({ answer }) => answer))
    expect(refused).toMatch(/^HTTP\/1\.1 503 .*retry-after: 5\r.*maxIncomingBytes/is)
    await using peer = new Peer(http.url, modern)
    expect((await peer.call('echo')).status).toBe(200)
    for (const { socket } of halves) socket.destroy()
  })

  it('stops counting a body when its connection closes', async () => {
    await using http = await serve(workshop(), { maxIncomingBytes: 150_000 })
    for (let count = 0; count < 5; count++) {
      const { answer, socket } = half(http.url)
      await once(socket, 'drain').catch(() => {})
      socket.destroy()
      expect(await answer).toBe('')
    }
    await using peer = new Peer(http.url, modern)
    const answer = await peer.call('echo', { text: 'a'.repeat(140_000) })
    expect((await answer.response()).result).toBeDefined()
  })
})
