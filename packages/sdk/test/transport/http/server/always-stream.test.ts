import { createMcpHandler } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { Peer } from '../../../kit/http-peer.ts'
import { eachRevision, httpRevisions } from '../../../kit/revisions.ts'
import { serve } from '../../../kit/serve-http.ts'
import { workshop } from '../../../kit/workshop.ts'

describe('alwaysStream', () => {
  for (const sessions of [true, false]) {
    eachRevision(
      httpRevisions,
      `answers every request with an event stream ${sessions ? 'with' : 'without'} sessions`,
      async (revision) => {
        await using http = await serve(workshop(), { alwaysStream: true, sessions })
        await using peer = await Peer.open(http.url, revision)
        const answer = await peer.call('echo', { text: 'hello' })
        expect(answer.isStream).toBe(true)
        expect((await answer.response()).result?.content).toEqual([{ type: 'text', text: 'hello' }])
        expect(await answer.ended).toBe('ended')
        const list = await peer.request('tools/list')
        expect(list.isStream).toBe(true)
        expect((await list.response()).result?.tools).toHaveLength(4)
      },
    )
  }

  it('still answers a refused request with a status and plain JSON', async () => {
    await using http = await serve(workshop(), { alwaysStream: true })
    await using peer = new Peer(http.url, '2025-11-25')
    peer.sessionId = 'unknown'
    const answer = await peer.call('echo')
    expect([answer.status, answer.type]).toEqual([404, 'application/json'])
  })

  it('cannot be combined with enableJsonResponse', () => {
    expect(() => createMcpHandler(workshop(), { alwaysStream: true, enableJsonResponse: true })).toThrow(TypeError)
  })
})
