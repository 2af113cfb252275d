import { describe, expect, it } from 'vitest'
import { describeUnreachable, hintFor, hintForStatus } from './hints.ts'

const url = new URL('https://mcp.example:8443/mcp?secret=1')
const failed = (code: string) => new TypeError('fetch failed', { cause: Object.assign(new Error('inner'), { code }) })

describe('The description of a server that cannot be reached', () => {
  it.each([
    ['ECONNREFUSED', 'nothing is listening on mcp.example:8443'],
    ['ENOTFOUND', 'there is no host named "mcp.example"'],
    ['EAI_AGAIN', 'the name "mcp.example" cannot be looked up now'],
    ['ETIMEDOUT', 'the host does not answer'],
    ['CERT_HAS_EXPIRED', 'the certificate of the server has expired'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'the certificate of the server is for another host name'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'the certificate of the server is not trusted'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'does not use TLS on this port. Use http://mcp.example:8443/mcp instead'],
  ])('%s: says why, and ends with the code', (code, reason) => {
    const text = describeUnreachable(failed(code), url, 'initialize')
    expect(text).toContain(`Cannot connect to https://mcp.example:8443/mcp: `)
    expect(text).toContain(reason)
    expect(text).toMatch(new RegExp(`\\(${code}\\)$`))
    expect(text).not.toContain('secret')
  })

  it('names a request that was not the first one', () => {
    const text = describeUnreachable(failed('ECONNREFUSED'), url, 'tools/call')
    expect(text).toMatch(/^tools\/call was not sent: cannot connect to /)
    expect(describeUnreachable(failed('ECONNREFUSED'), url, 'server/discover')).toMatch(/^Cannot connect/)
  })

  it.each([
    [new Error('no code'), '(no code)'],
    ['a text', '(a text)'],
    [undefined, '(undefined)'],
  ])('ends with the message of an error without a code: %s', (cause, end) => {
    expect(describeUnreachable(cause, url, 'initialize').endsWith(end)).toBe(true)
  })
})

describe('The hint about a response that did not arrive', () => {
  const plain = new URL('http://mcp.example/mcp')

  it('says that the server does not speak HTTP, and asks for TLS only if the URL does not', () => {
    const named = Object.assign(new Error('bad'), { name: 'HTTPParserError' })
    for (const cause of [failed('HPE_INVALID_CONSTANT'), named]) {
      expect(hintFor(cause, plain, 'tools/call')).toBe(
        '. The server does not speak HTTP on this port. If it uses TLS, connect to https://mcp.example/mcp',
      )
      expect(hintFor(cause, url, 'tools/call')).toBe('. The server does not speak HTTP on this port')
    }
  })

  it.each(['ECONNRESET', 'UND_ERR_SOCKET'])('asks for TLS if the first request is cut off: %s', (code) => {
    for (const method of ['initialize', 'server/discover'])
      expect(hintFor(failed(code), plain, method)).toContain('If it uses TLS, connect to https://mcp.example/mcp')
    expect(hintFor(failed(code), plain, 'tools/call')).toBe('')
    expect(hintFor(failed(code), url, 'initialize')).toBe('')
    expect(hintFor(failed('ETIMEDOUT'), plain, 'initialize')).toBe('')
  })

  it('names the limit that a request exceeds', () => {
    expect(hintForStatus(413, undefined, plain)).toContain('maxBodyBytes')
    expect(hintForStatus(431, undefined, plain)).toContain('Mcp-Param-*')
    expect(hintForStatus(400, undefined, plain)).toBe('')
  })

  it('asks for TLS if the server says so to plain HTTP', () => {
    const body = 'The plain HTTP request was sent to HTTPS port'
    expect(hintForStatus(400, body, plain)).toContain('https://mcp.example/mcp')
    expect(hintForStatus(400, body, url)).toBe('')
    expect(hintForStatus(404, body, plain)).toBe('')
    expect(hintForStatus(400, 'no', plain)).toBe('')
  })

  it.each(['<!DOCTYPE html>', '  <html lang="en">', '<head>', '<body class="a">'])(
    'recognises a web page: %s',
    (body) => {
      expect(hintForStatus(200, body, plain)).toContain('This is a web page, not an MCP endpoint')
    },
  )

  it.each(['<xml>', 'text <html>', '<header>', ''])('does not take %j for a web page', (body) => {
    expect(hintForStatus(200, body, plain)).toBe('')
  })
})
