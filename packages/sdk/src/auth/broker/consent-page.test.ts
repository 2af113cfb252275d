import { describe, expect, it } from 'vitest'
import type { OAuthClient } from '../server/client.ts'
import { consentPage, displayNameOf } from './consent-page.ts'

function show(options: {
  redirectUri?: string
  scopes?: string[]
  client?: Partial<OAuthClient>
  providerOrigin?: string
}) {
  const {
    redirectUri = 'https://app.example/back',
    scopes = [],
    client = {},
    providerOrigin = 'https://id.example',
  } = options
  const { status, headers, body } = consentPage({
    request: {
      client: { client_id: 'c', client_name: 'App', redirect_uris: [], ...client },
      redirectUri,
      scopes,
      state: undefined,
      codeChallenge: '',
      resource: undefined,
    },
    scopes: new Map([['read', 'Read <notes>']]),
    resourceName: 'Notes',
    resource: 'https://mcp.example/mcp',
    providerName: 'Example ID',
    providerOrigin,
    action: '/authorize/consent',
    form: 'sealed"',
    stylesheet: '/style.css',
    headers: { 'set-cookie': 'a=b' },
  })
  const policy = /form-action ([^;]*)/.exec(headers['content-security-policy']!)![1]
  return { status, headers, body, policy }
}

const localWarning = 'Any program on this computer could claim to be this application.'
const unverified = 'The name was chosen by the application itself and is not verified.'

describe('the consent page', () => {
  it('shows client, resource, redirect and form, escaped', () => {
    const { status, headers, body } = show({ client: { client_name: '<b>App' } })
    expect([status, headers['set-cookie']]).toEqual([200, 'a=b'])
    expect(body).toContain('<strong>&lt;b&gt;App</strong> wants to use <code>https://mcp.example/mcp</code>')
    expect(body).toContain('<strong>app.example</strong><br><code>https://app.example/back</code>')
    expect(body).toContain('value="sealed&quot;"')
    expect(body).toContain('you will sign in with Example ID next')
    expect(body).not.toContain('<b>')
  })

  it('lists the requested scopes with their descriptions, and nothing if there are none', () => {
    expect(show({}).body).not.toContain('It will be able to')
    const { body } = show({ scopes: ['read', 'own'] })
    expect(body).toContain('<li>Read &lt;notes&gt; <code>read</code></li><li>own <code>own</code></li>')
  })

  it('tells a client with a document from one that chose its name', () => {
    const registered = show({}).body
    expect(registered).toContain(unverified)
    const { body } = show({ client: { client_id: 'https://app.example/c' } })
    expect(body).not.toContain(unverified)
    expect(body).toContain('published at <strong>app.example</strong> (<code>https://app.example/c</code>)')
  })

  it.each([
    ['https://app.example/back', false],
    ['http://127.0.0.1:5/back', true],
    ['https://localhost:5/back', true],
    ['cursor://back', true],
  ])('warns of programs on this computer for %s: %s', (redirectUri, isWarned) => {
    expect(show({ redirectUri }).body.includes(localWarning)).toBe(isWarned)
  })

  it.each([
    ['https://app.example/back', 'https://id.example', "'self' https:"],
    ['http://127.0.0.1:5/back', 'https://id.example', "'self' https: http://127.0.0.1:5"],
    ['http://[::1]:5/back', 'https://id.example', "'self' https: http:"],
    ['cursor://back', 'http://localhost:9', "'self' https: http://localhost:9 cursor:"],
  ])('allows the form to lead to %s by way of %s', (redirectUri, providerOrigin, policy) => {
    expect(show({ redirectUri, providerOrigin }).policy).toBe(policy)
  })
})

it.each([
  [{ client_name: 'App' }, 'App'],
  [{ client_name: '' }, 'An unnamed application'],
  [{}, 'An unnamed application'],
  [{ client_id: 'https://app.example:8443/c' }, 'app.example:8443'],
  [{ client_id: 'https://app.example/c', client_name: 'App' }, 'App'],
])('names the client %o as %s', (client, name) => {
  expect(displayNameOf({ client_id: 'c', redirect_uris: [], ...client })).toBe(name)
})
