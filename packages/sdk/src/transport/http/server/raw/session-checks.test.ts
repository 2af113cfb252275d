import { describe, expect, it } from 'vitest'
import type { CallRequest } from '../call.ts'
import {
  getTypeProblem,
  opensSession,
  originProblem,
  postTypeProblem,
  sessionProblem,
  versionProblem,
} from './session-checks.ts'

const request = (headers: Record<string, string>) => ({ header: (name: string) => headers[name] }) as CallRequest

describe('The checks of a RawHttpTransport', () => {
  it('accept only hosts and origins that are listed, if any are', () => {
    const limits = { allowedHosts: ['a.example'], allowedOrigins: ['https://a.example'] }
    const statusOf = (headers: Record<string, string>) => originProblem(limits, request(headers))?.message
    expect(statusOf({ host: 'a.example' })).toBeUndefined()
    expect(statusOf({ host: 'a.example', origin: 'https://a.example' })).toBeUndefined()
    expect(statusOf({ host: 'b.example' })).toBe('Invalid Host header: b.example')
    expect(statusOf({})).toBe('Invalid Host header: undefined')
    expect(statusOf({ host: 'a.example', origin: 'https://b.example' })).toBe(
      'Invalid Origin header: https://b.example',
    )
    const foreign = request({ host: 'b.example', origin: 'https://b.example' })
    for (const open of [{}, { allowedHosts: [], allowedOrigins: [] }])
      expect(originProblem(open, foreign)).toBeUndefined()
  })

  it('require that a POST accepts both types and is JSON, and that a GET accepts events', () => {
    const both = 'application/json, text/event-stream'
    const post = (accept: string, type: string) => postTypeProblem(request({ accept, 'content-type': type }))?.status
    for (const type of ['application/json', 'Application/JSON', ' application/json ; charset=utf-8'])
      expect(post(both, type)).toBeUndefined()
    for (const type of ['', 'text/plain', 'application/jsonp', 'text/plain; application/json'])
      expect(post(both, type)).toBe(415)
    for (const accept of ['application/json', 'text/event-stream', '', '*/*'])
      expect(post(accept, 'application/json')).toBe(406)
    expect(postTypeProblem(request({}))?.status).toBe(406)
    expect(getTypeProblem(request({ accept: 'text/event-stream' }))).toBeUndefined()
    expect([getTypeProblem(request({ accept: '*/*' }))?.status, getTypeProblem(request({}))?.status]).toEqual([
      406, 406,
    ])
  })

  it('require the id of the session, once there is one', () => {
    const state = { isInitialized: true, sessionId: 'a' }
    const check = (headers: Record<string, string>, known = state) => sessionProblem(known, request(headers))?.message
    expect(check({ 'mcp-session-id': 'a' })).toBeUndefined()
    expect(check({ 'mcp-session-id': 'b' })).toBe('Session not found')
    expect(check({})).toBe('Bad Request: Mcp-Session-Id header is required')
    expect(check({ 'mcp-session-id': 'a' }, { ...state, isInitialized: false })).toContain('Server not initialized')
  })

  it('accept supported versions, and requests without one', () => {
    expect(versionProblem(['1', '2'], undefined)).toBeUndefined()
    expect(versionProblem(['1', '2'], '2')).toBeUndefined()
    expect(versionProblem(['1', '2'], '3')?.message).toContain('version: 3 (supported versions: 1, 2)')
  })

  it('take only a complete initialize request for the beginning of a session', () => {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {} }
    const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params }
    expect(opensSession(initialize)).toBe(true)
    expect(opensSession({ ...initialize, id: undefined })).toBe(false)
    expect(opensSession({ ...initialize, method: 'ping' })).toBe(false)
    expect(opensSession({ ...initialize, params: undefined })).toBe(false)
    expect(opensSession([initialize])).toBe(false)
    for (const name of Object.keys(params))
      expect(opensSession({ ...initialize, params: { ...params, [name]: 7 } })).toBe(false)
  })
})
