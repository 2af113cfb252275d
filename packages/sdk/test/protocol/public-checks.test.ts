import { answerProblem, callerMetaProblem, paramsProblem, revisions } from 'tenon'
import {
  findMirroredArguments,
  headerAnnotationProblem,
  mirroredArgumentsProblem,
  statelessPostProblem,
  toForm,
} from 'tenon/server'
import { describe, expect, it } from 'vitest'

describe('checks for programs that handle messages themselves', () => {
  it('describe invalid params by their field, and accept those of custom methods', () => {
    expect(paramsProblem('tools/call', { name: 1 })).toContain('params.name must be a string')
    expect(paramsProblem('tools/call', { name: 'a' })).toBeUndefined()
    expect(paramsProblem('acme/anything', { name: 1 })).toBeUndefined()
  })

  it('describe what _meta of a request does not say about its caller', () => {
    expect(callerMetaProblem({})).toContain('clientCapabilities')
    expect(callerMetaProblem({ 'io.modelcontextprotocol/clientCapabilities': {} })).toBeUndefined()
  })

  it('describe an answer that does not fit its question', () => {
    expect(answerProblem({ method: 'roots/list' }, { roots: 'none' })).toBeDefined()
    expect(answerProblem({ method: 'roots/list' }, { roots: [{ uri: 'file:///a' }] })).toBeUndefined()
  })

  it('say which methods a revision lacks', () => {
    const newest = revisions[0]!
    expect(newest.lacks('initialize')).toBe(true)
    expect(newest.lacks('tools/call')).toBe(false)
  })

  it('compare arguments with the headers that repeat them', () => {
    const schema = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } }
    expect(headerAnnotationProblem(schema)).toBeUndefined()
    const mirrored = findMirroredArguments(schema)
    const header = (value: string) => ({ header: () => value })
    expect(mirroredArgumentsProblem(mirrored, { region: 'eu' }, header('eu'))).toBeUndefined()
    expect(mirroredArgumentsProblem(mirrored, { region: 'eu' }, header('us'))).toContain('does not match')
  })

  it('refuse a parsed POST of 2026-07-28 whose headers disagree with it, or that is too large or too deep', () => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const message = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'add', _meta } }
    const sent = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'add' }
    const reader = (headers: Record<string, string>) => ({ header: (name: string) => headers[name] })
    expect(statelessPostProblem(message, reader(sent))).toBeUndefined()

    const mismatch = statelessPostProblem(message, reader({ ...sent, 'mcp-name': 'remove' }))
    expect(mismatch?.status).toBe(400)
    expect(JSON.parse(mismatch!.json)).toMatchObject({ jsonrpc: '2.0', id: 7, error: { code: -32020 } })
    expect(statelessPostProblem(message, reader(sent), 50)?.status).toBe(413)
    let nested: unknown = {}
    for (let depth = 0; depth < 600; depth++) nested = [nested]
    const deep = { ...message, params: { ...message.params, arguments: { nested } } }
    expect(JSON.parse(statelessPostProblem(deep, reader(sent))!.json).error.code).toBe(-32600)
  })

  it('convert a JSON Schema to a form, or name what a form cannot have', () => {
    const form = toForm({ type: 'object', properties: { a: { type: 'string' } } })
    expect(form.properties).toEqual({ a: { type: 'string' } })
    expect(() => toForm({ type: 'object', properties: { a: { type: 'object' } } })).toThrow('"a"')
  })
})
