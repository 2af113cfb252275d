import { describe, expect, it } from 'vitest'
import type { GuardedFetch } from '../../net/guarded-fetch.ts'
import { ClientDocuments, type ClientDocumentsOptions, checkHostPatterns, isDocumentUrl } from './client-documents.ts'

const url = 'https://app.example/client.json'
const documentOf = (clientId: string) => ({
  client_id: clientId,
  client_name: 'App',
  redirect_uris: ['https://app.example/back'],
})

/** Documents of any client, which may be changed, with their requests. */
function start(options: Partial<ClientDocumentsOptions> = {}, more: object = {}, headers: Record<string, string> = {}) {
  const requests: string[] = []
  const state = { now: 1_000_000 }
  const fetch: GuardedFetch = async (target) => {
    requests.push(String(target))
    return Response.json({ ...documentOf(String(target)), ...more }, { headers })
  }
  const documents = new ClientDocuments({ fetch, now: () => state.now, ...options })
  return { documents, requests, state }
}

describe('a client metadata document', () => {
  it('becomes a client without authentication that may use codes [AUTH-051]', async () => {
    const { documents } = start({}, { extra: 1 })
    expect(await documents.find(url)).toEqual({
      ...documentOf(url),
      extra: 1,
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code'],
    })
  })

  it('keeps its grant types and its key', async () => {
    const more = { grant_types: ['refresh_token'], token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [] } }
    expect(await start({}, more).documents.find(url)).toMatchObject(more)
  })

  it.each([
    ['names another client', { client_id: 'https://app.example/other.json' }, 'its client_id is not its own URL'],
    ['has no name', { client_name: undefined }, 'client_name is missing'],
    ['has a name that is not text', { client_name: 1 }, 'client_name must be a string.'],
    ['has keys that are not a key set', { jwks: [] }, 'jwks must be a JSON Web Key Set.'],
    ['contains a secret', { client_secret: 's' }, 'a client with a public metadata document cannot have a secret'],
    [
      'authenticates with a secret',
      { token_endpoint_auth_method: 'client_secret_post' },
      'a client with a public metadata document cannot have a secret',
    ],
    ['has no redirect URIs', { redirect_uris: [] }, 'redirect_uris must contain at least one URI.'],
    ['has a redirect URI of a foreign scheme', { redirect_uris: ['app:/back'] }, 'redirect_uris must use https'],
  ])('is rejected if it %s [AUTH-052]', async (_, more, reason) => {
    await expect(start({}, more).documents.find(url)).rejects.toMatchObject({
      errorCode: 'invalid_client',
      message: expect.stringContaining(`The client metadata document cannot be used: ${reason}`),
    })
  })

  it('may have redirect URIs of the schemes that the operator allows', async () => {
    const redirect_uris = ['app:/back']
    expect(await start({ redirectSchemes: ['app'] }, { redirect_uris }).documents.find(url)).toMatchObject({
      redirect_uris,
    })
  })

  it.each([
    ['another status', () => Response.json(documentOf(url), { status: 201 }), 'app.example responded with HTTP 201'],
    [
      'another content type',
      () => new Response(JSON.stringify(documentOf(url)), { headers: { 'content-type': 'text/plain' } }),
      'the content type of the response of app.example is not JSON',
    ],
    ['a list', () => Response.json([documentOf(url)]), 'the response of app.example is not a JSON object'],
    [
      'half of it',
      () => new Response('{', { headers: { 'content-type': 'application/json' } }),
      'the response of app.example is not a JSON object',
    ],
  ])('is rejected if the response has %s [AUTH-051]', async (_, respond, reason) => {
    await expect(start({ fetch: async () => respond() }).documents.find(url)).rejects.toThrow(reason)
  })

  it('is requested as JSON, without following redirects [AUTH-053]', async () => {
    const seen: unknown[] = []
    const fetch: GuardedFetch = async (...given) => {
      seen.push(given)
      return Response.json(documentOf(url))
    }
    await start({ fetch }).documents.find(url)
    expect(seen).toEqual([[url, { headers: { accept: 'application/json' }, redirect: 'error' }]])
  })

  it('tells only the operator why it was rejected, if there is one [AUTH-053]', async () => {
    const errors: unknown[] = []
    const reportError = (error: unknown) => errors.push((error as Error).message)
    const { documents } = start({ reportError }, { client_name: undefined })
    await expect(documents.find(`${url}?key=secret`)).rejects.toThrow(/^The client metadata document cannot be used\.$/)
    expect(errors).toEqual([
      'The client metadata document cannot be used: app.example/client.json: client_name is missing',
    ])
  })
})

describe('the cache of client metadata documents', () => {
  it('keeps a document until the second that HTTP says [AUTH-051]', async () => {
    const { documents, requests, state } = start({}, {}, { 'cache-control': 'public, max-age=60' })
    await documents.find(url)
    state.now += 59_999
    await documents.find(url)
    expect(requests).toHaveLength(1)
    state.now += 1
    await documents.find(url)
    expect(requests).toHaveLength(2)
  })

  it.each(['', 'no-store, max-age=60', 'max-age=60, no-cache', 'max-age=0'])(
    'keeps nothing with Cache-Control: %s [AUTH-051]',
    async (cacheControl) => {
      const { documents, requests } = start({}, {}, { 'cache-control': cacheControl })
      await documents.find(url)
      await documents.find(url)
      expect(requests).toHaveLength(2)
    },
  )

  it('keeps no document longer than allowed, by default an hour', async () => {
    const headers = { 'cache-control': 'max-age=999999' }
    for (const [options, seconds] of [[{}, 3_600] as const, [{ maxAgeSeconds: 5 }, 5] as const]) {
      const { documents, requests, state } = start(options, {}, headers)
      await documents.find(url)
      state.now += seconds * 1_000 - 1
      await documents.find(url)
      expect(requests).toHaveLength(1)
      state.now += 1
      await documents.find(url)
      expect(requests).toHaveLength(2)
    }
  })

  it('drops the oldest document when it is full', async () => {
    const { documents, requests } = start({ maxDocuments: 2 }, {}, { 'cache-control': 'max-age=60' })
    const [a, b, c] = ['a', 'b', 'c'].map((name) => `https://app.example/${name}`) as [string, string, string]
    for (const each of [a, b, a, c, b, c]) await documents.find(each)
    expect(requests).toEqual([a, b, c])
    await documents.find(a)
    expect(requests).toEqual([a, b, c, a])
  })

  it('forgets a document that may no longer be cached', async () => {
    const headers = { 'cache-control': 'max-age=60' }
    const { documents, requests, state } = start({}, {}, headers)
    await documents.find(url)
    state.now += 60_000
    headers['cache-control'] = 'no-store'
    await documents.find(url)
    // Even if the clock is set back.
    state.now -= 30_000
    await documents.find(url)
    expect(requests).toHaveLength(3)
  })

  it('fetches 32 documents at a time, each once, and refuses more [AUTH-053]', async () => {
    let open!: () => void
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const requests: string[] = []
    const fetch: GuardedFetch = async (target) => {
      requests.push(String(target))
      await gate
      return Response.json(documentOf(String(target)))
    }
    const { documents } = start({ fetch })
    const found = Array.from({ length: 32 }, (_, index) => documents.find(`https://app.example/${index}`))
    found.push(documents.find('https://app.example/31'))
    await expect(documents.find(url)).rejects.toMatchObject({ errorCode: 'temporarily_unavailable', status: 503 })
    open()
    await Promise.all(found)
    expect(requests).toHaveLength(32)
    expect(await documents.find(url)).toMatchObject({ client_id: url })
  })
})

describe('hosts of client metadata documents', () => {
  it('are all trusted by default, else those that match a pattern [AUTH-093]', async () => {
    const { documents, requests } = start({ trustedHosts: ['app.example', '*.sub.example:8443'] })
    for (const host of ['app.example', 'a.sub.example:8443']) await documents.find(`https://${host}/c`)
    for (const host of ['a.app.example', 'sub.example:8443', 'a.sub.example', 'evilsub.example:8443']) {
      await expect(documents.find(`https://${host}/c`)).rejects.toThrow(
        `Client metadata documents of ${host} are not accepted.`,
      )
    }
    expect(requests).toHaveLength(2)
  })

  it('must be patterns that can match', () => {
    expect(() => checkHostPatterns('hosts', undefined)).not.toThrow()
    expect(() => checkHostPatterns('hosts', ['app.example', '*.app.example', 'app.example:8443'])).not.toThrow()
    for (const pattern of [
      '*',
      '*.*.example',
      'a*.example',
      'https://app.example',
      'App.example',
      'app.example/',
      '',
    ]) {
      expect(() => checkHostPatterns('hosts', ['app.example', pattern])).toThrow(
        `hosts: ${JSON.stringify(pattern)} is not a host.`,
      )
    }
  })
})

it.each([
  ['https://app.example/c', true],
  ['http://localhost:1/c', true],
  ['https://app.example/c?x=1', true],
  ['https://app.example/', false],
  ['https://app.example', false],
  ['https://app.example/c#', false],
  ['https://app.example/c#x', false],
  ['https://App.example/c', false],
  ['https://app.example/a/../c', false],
  ['ftp://app.example/c', false],
  ['app', false],
])('recognizes whether a client id is a document URL: %s', (clientId, isUrl) => {
  expect(isDocumentUrl(clientId)).toBe(isUrl)
})
