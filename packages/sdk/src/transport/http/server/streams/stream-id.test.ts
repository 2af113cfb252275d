import { describe, expect, it } from 'vitest'
import { parseStreamId, toReplyId, toStandaloneId } from './stream-id.ts'

describe('The id of a stream', () => {
  it('of a GET names its process and no request', () => {
    const id = toStandaloneId('session', 'node', 3)
    expect(id).toBe('session/node.3')
    expect(parseStreamId('session', id)).toEqual({ node: 'node', isStandalone: true, requestId: undefined })
  })

  it.each([['a/b.c %'], [7], ['7']])('of a response names its request: %j', (requestId) => {
    const id = toReplyId('session', 'node', 4, requestId)
    expect(parseStreamId('session', id)).toEqual({ node: 'node', isStandalone: false, requestId })
  })

  it('of a response to a batch, or to a request with a very long id, names no request', () => {
    const origin = { node: 'node', isStandalone: false, requestId: undefined }
    expect(parseStreamId('session', toReplyId('session', 'node', 5, undefined))).toEqual(origin)
    // The text of a string has two quotes, which are encoded as three characters each.
    expect(parseStreamId('session', toReplyId('session', 'node', 5, 'x'.repeat(195)))).toEqual(origin)
    const longest = 'x'.repeat(194)
    expect(parseStreamId('session', toReplyId('session', 'node', 5, longest))?.requestId).toBe(longest)
  })

  it.each([
    'other/node.1',
    'session',
    'sessions/node.1',
    'session/node',
    'session/node.x',
    'session/node.1.a/b',
    'session/a/node.1',
  ])('is not one of this session: %s [SSE-017]', (id) => {
    expect(parseStreamId('session', id)).toBeUndefined()
  })

  it('of a response whose request cannot be read names no request', () => {
    for (const text of ['%', 'not-json'])
      expect(parseStreamId('session', `session/node.1.${text}`)).toEqual({
        node: 'node',
        isStandalone: false,
        requestId: undefined,
      })
  })
})
