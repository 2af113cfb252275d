import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import type { Call } from '../src/copy-as/call.ts'
import { toCurl } from '../src/copy-as/curl.ts'
import { quote, splitWords } from '../src/copy-as/shell.ts'
import { toTenonCommand } from '../src/copy-as/tenon-call.ts'
import { literal, toTypeScript } from '../src/copy-as/typescript.ts'
import { testFileName, toVitest } from '../src/copy-as/vitest.ts'
import type { ServerView } from '../src/store/servers.ts'

const http: ServerView = {
  server: 's',
  name: 'demo',
  address: 'http://127.0.0.1:3000/mcp',
  transport: 'http',
  chosenRevision: null,
  state: 'ready',
  revision: '2026-07-28',
}
const stdio: ServerView = { ...http, address: `node 'my server.js' --fast`, transport: 'stdio' }
const add: Call = {
  server: http,
  method: 'tools/call',
  params: { name: 'add', arguments: { a: 1, text: "it's", list: [1] } },
}

describe('copying a call', () => {
  it('as curl takes address, headers and _meta of the real request, and replaces secrets', () => {
    const message = { params: { _meta: { progressToken: 1, 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } } }
    const requestHeaders = {
      Host: 'x',
      Authorization: 'Bearer [redacted]',
      'Mcp-Method': 'ping',
      'x-api-key': '[redacted]',
    }
    const exchange = {
      seq: 1,
      at: 1,
      kind: 'http',
      server: 's',
      http: 'h',
      method: 'POST',
      url: http.address,
      requestHeaders,
    } as const
    const command = toCurl({ ...add, sent: { message, exchange } }) ?? ''
    expect(command).toContain('-H "authorization: Bearer $TOKEN"')
    expect(command).toContain('-H "x-api-key: $X_API_KEY"')
    expect(command).toContain(`-H 'mcp-method: tools/call'`)
    expect(command).not.toMatch(/redacted|progressToken|host:/i)
    // The shell gives curl the same JSON.
    const data = command.slice(command.indexOf('--data-raw ') + '--data-raw '.length)
    const body = JSON.parse(execFileSync('sh', ['-c', `printf %s ${data}`], { encoding: 'utf8' }))
    expect(body.params).toMatchObject({ arguments: { text: "it's" }, _meta: expect.anything() })
    expect(toCurl({ ...add, server: stdio })).toBeUndefined()
  })

  it('as a command gives key=value, or JSON where names would be misread', () => {
    expect(toTenonCommand(add)).toBe(`tenon call http://127.0.0.1:3000/mcp add a=1 'text=it'\\''s' 'list:=[1]'`)
    const strange = { ...add, server: stdio, revision: '2025-06-18', params: { name: 'add', arguments: { 'a=b': 1 } } }
    expect(toTenonCommand(strange)).toBe(
      `tenon call add --args '{"a=b":1}' --revision 2025-06-18 -- node 'my server.js' --fast`,
    )
    expect(toTenonCommand({ ...add, method: 'resources/read', params: { uri: 'a://b' } })).toBe(
      'tenon read http://127.0.0.1:3000/mcp a://b',
    )
    expect(toTenonCommand({ ...add, method: 'ping' })).toBeUndefined()
  })

  it('as TypeScript connects to the same target', () => {
    expect(toTypeScript({ ...add, server: stdio })).toContain(
      `connect({ command: 'node', args: ['my server.js', '--fast'] })`,
    )
    expect(toTypeScript(add)).toContain(`client.callTool('add', { a: 1, text: 'it\\'s', list: [1] })`)
  })

  it('as a test expects what the call answered', () => {
    const test = toVitest({ ...add, result: { content: [{ type: 'text', text: '3' }], _meta: { x: 1 } } })
    expect(test).toContain(`test('tools/call add answers as recorded'`)
    expect(test).toContain(`toMatchObject({ content: [{ type: 'text', text: '3' }] })`)
    expect(toVitest(add)).toBeUndefined()
    expect(testFileName({ ...add, params: { name: '../../x' } })).toBe('-x.test.ts')
  })

  it('writes literals that mean the same and hide nothing', () => {
    const value = { 'a-b': [1, null, true], __proto__: 1, text: 'x'.repeat(120), bidi: 'a\u202eb', line: '\n\'"\\' }
    const copied = literal(value)
    expect(copied).not.toContain('\u202e')
    expect(new Function(`return ${copied}`)()).toEqual(value)
  })

  it('splits a command line as a shell does', () => {
    for (const words of [['node', 'a b', `it's`, '"x"', '$HOME', '\\'], ['x']]) {
      expect(splitWords(words.map(quote).join(' '))).toEqual(words)
    }
    expect(splitWords(`a "b \\"c" d\\ e`)).toEqual(['a', 'b "c', 'd e'])
  })
})
