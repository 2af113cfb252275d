import { describe, expect, it } from 'vitest'
import { AuthError } from '../../errors.ts'
import { AuthContext, Trace } from './context.ts'

const url = new URL('https://mcp.example/.well-known/oauth-protected-resource')

/** A context whose `fetch` answers once, with what it was asked and whether the body was given up. */
function answering(status: number, body: string, revision?: string) {
  const sent: { url: string; headers: unknown }[] = []
  const state = { isCancelled: false }
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(body))
      if (status === 200) controller.close()
    },
    cancel() {
      state.isCancelled = true
    },
  })
  const fetch = async (at: string, { headers }: { headers?: unknown }) => {
    sent.push({ url: at, headers })
    return new Response(stream, { status })
  }
  const context = new AuthContext(new URL('https://mcp.example/mcp'), new Trace(), fetch as never, revision)
  return { sent, state, context }
}

describe('a metadata document', () => {
  it('is read if it is a JSON object', async () => {
    const { context, state } = answering(200, '{"a":1}')
    expect(await context.fetchJson(url, 'metadata')).toEqual({ a: 1 })
    expect(state.isCancelled).toBe(false)
  })

  it.each([
    ['is not JSON', 200, '<html>'],
    ['is not an object', 200, '[1]'],
  ])('counts as missing if it %s', async (_, status, body) => {
    expect(await answering(status, body).context.fetchJson(url, 'metadata')).toBeUndefined()
  })

  it('is not there after a 404, whose body is given up so that the connection is free', async () => {
    const { context, state } = answering(404, 'Not here')
    expect(await context.fetchJson(url, 'metadata')).toBeUndefined()
    expect(state.isCancelled).toBe(true)
  })

  it('is unknown if the server fails', async () => {
    await expect(answering(500, '').context.fetchJson(url, 'metadata')).rejects.toThrow(AuthError)
    await expect(answering(503, '').context.fetchJson(url, 'metadata')).rejects.toThrow('HTTP 503')
  })

  it('is requested with the revision from the server itself only', async () => {
    const own = answering(200, '{}', '2025-11-25')
    await own.context.fetchJson(url, 'metadata')
    const foreign = answering(200, '{}', '2025-11-25')
    await foreign.context.fetchJson(new URL('https://as.example/'), 'metadata')
    const unconnected = answering(200, '{}')
    await unconnected.context.fetchJson(url, 'metadata')
    const accept = 'application/json'
    expect([own, foreign, unconnected].map(({ sent }) => sent[0]?.headers)).toEqual([
      { accept, 'mcp-protocol-version': '2025-11-25' },
      { accept },
      { accept },
    ])
  })
})
