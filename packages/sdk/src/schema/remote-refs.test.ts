import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { guardedFetch } from 'tenon/auth/client'
import { describe, expect, test, vi } from 'vitest'
import { compileJsonSchema, type JsonSchema } from './json-schema.ts'
import { type RemoteRefOptions, resolveRemoteRefs } from './remote-refs.ts'

const HOST = 'schemas.example.com'
const remote = { properties: { name: { $ref: `https://${HOST}/name.json` } } }

describe('remote references', () => {
  test('fetches remote references on request, from allowed hosts, including nested ones [JSON-010]', async () => {
    const { options, fetched, logged } = library({
      '/name.json': { type: 'string', allOf: [{ $ref: 'limits.json#/$defs/short' }] },
      '/limits.json': { $defs: { short: { maxLength: 3 }, back: { $ref: 'name.json' } } },
    })
    const schema = await resolveRemoteRefs(remote, options)
    const check = compileJsonSchema(schema)
    expect(check({ name: 'Ada' })).toBe(undefined)
    expect(check({ name: 'Grace' })).toHaveLength(1)
    expect(fetched).toEqual(['/name.json', '/limits.json'])
    expect(logged).toEqual(fetched.map((path) => `Fetching the schema https://${HOST}${path}`))
  })

  test('does not fetch a document that the schema already contains', async () => {
    const { options, fetched } = library({})
    const own = { $defs: { a: { $id: `https://${HOST}/name.json` } }, ...remote }
    expect(await resolveRemoteRefs(own, options)).toBe(own)
    const data = { const: { $ref: `https://${HOST}/x` }, items: { $ref: '#/$defs/a' }, $defs: { a: {} } }
    expect(await resolveRemoteRefs(data, options)).toBe(data)
    expect(fetched).toEqual([])
  })

  test.each([
    ['another host', { $ref: 'https://evil.example.com/a.json' }],
    ['plain http', { $ref: `http://${HOST}/a.json` }],
    ['a file', { $ref: 'file:///etc/passwd' }],
    ['a URL with a user name', { $ref: `https://ann@${HOST}/a.json` }],
    ['a URL with a password', { $ref: `https://:secret@${HOST}/a.json` }],
  ])('refuses a reference to %s before it sends a request [JSON-012]', async (_what, schema) => {
    const { options, fetched } = library({})
    await expect(resolveRemoteRefs(schema, options)).rejects.toThrow('is not allowed')
    expect(fetched).toEqual([])
  })

  test.each(['127.0.0.1', '169.254.169.254', '10.0.0.1', '[::1]'])(
    'refuses the private address %s even if it is on the allow list [JSON-012]',
    async (address) => {
      const connect = vi.fn()
      const server = createServer(connect)
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const host = `${address}:${(server.address() as AddressInfo).port}`
      const options = { fetch: guardedFetch(), allowedHosts: [host], log: () => {} }
      await expect(resolveRemoteRefs({ $ref: `https://${host}/a.json` }, options)).rejects.toMatchObject({
        name: 'GuardError',
      })
      expect(connect).not.toHaveBeenCalled()
      server.close()
    },
  )

  test('limits remote documents in length, number and time, and does not follow redirects [JSON-012]', async () => {
    const long = library({ '/name.json': { title: 'x'.repeat(300_000) } })
    await expect(resolveRemoteRefs(remote, long.options)).rejects.toThrow('is longer than 262144 characters')
    const chain = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [`/${index}.json`, { $ref: `${index + 1}.json` }]),
    )
    const many = library(chain)
    await expect(resolveRemoteRefs({ $ref: `https://${HOST}/0.json` }, many.options)).rejects.toThrow('more than 20')
    expect(many.fetched).toHaveLength(20)
    const hanging: RemoteRefOptions = {
      ...many.options,
      timeoutMs: 5,
      fetch: (_uri, { redirect, signal }) => {
        expect(redirect).toBe('error')
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      },
    }
    await expect(resolveRemoteRefs(remote, hanging)).rejects.toMatchObject({ name: 'TimeoutError' })
  })

  test('refuses a document that is too long before it has read all of it [JSON-012]', async () => {
    let read = 0
    const cancel = vi.fn()
    const pull = (controller: ReadableStreamDefaultController) => {
      if (read > 10_000_000) return controller.close()
      read += 65_536
      controller.enqueue(new Uint8Array(65_536).fill(0x20))
    }
    const long = new Response(new ReadableStream({ pull, cancel }))
    const options = { ...library({}).options, fetch: async () => long }
    await expect(resolveRemoteRefs(remote, options)).rejects.toThrow('is longer than 262144 characters')
    expect(read).toBeLessThan(1_000_000)
    expect(cancel).toHaveBeenCalledOnce()
  })

  test('decodes UTF-8 that arrives byte by byte', async () => {
    const bytes = new TextEncoder().encode('{"const":"Zoë 🌍"}')
    const pieces = new ReadableStream({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte))
        controller.close()
      },
    })
    const options = { ...library({}).options, fetch: async () => new Response(pieces) }
    const check = compileJsonSchema(await resolveRemoteRefs(remote, options))
    expect(check({ name: 'Zoë 🌍' })).toBe(undefined)
    expect(check({ name: 'Zoe' })).toHaveLength(1)
  })

  test('finds remote references in arrays of any length', async () => {
    const { options, fetched } = library({ '/name.json': { oneOf: new Array(200_000).fill(1) } })
    await resolveRemoteRefs(remote, { ...options, maxDocumentLength: 1_000_000 })
    const many = { allOf: new Array(200_000).fill({ $ref: 'other.json' }) }
    const large = library({ '/name.json': many, '/other.json': {} })
    await resolveRemoteRefs(remote, { ...large.options, maxDocumentLength: 10_000_000 })
    expect([fetched, large.fetched]).toEqual([['/name.json'], ['/name.json', '/other.json']])
  })

  test.each<[string, string | JsonSchema | number[]]>([
    ['is missing', '404'],
    ['is not JSON', '<html>'],
    ['is not an object', [1]],
    ['has another $id', { $id: 'https://other.example.com/a' }],
  ])('refuses a document that %s', async (_what, document) => {
    const { options } = library({ '/name.json': document })
    await expect(resolveRemoteRefs(remote, options)).rejects.toThrow('The remote schema')
  })
})

/** Creates a fetch that serves documents by path on one host. */
function library(documents: Record<string, unknown>) {
  const fetched: string[] = []
  const logged: string[] = []
  const options: RemoteRefOptions = {
    allowedHosts: [HOST],
    log: (message) => logged.push(message),
    fetch: async (url) => {
      const { pathname } = new URL(url)
      fetched.push(pathname)
      const document = documents[pathname]
      if (document === '404') return new Response('', { status: 404 })
      return new Response(typeof document === 'string' ? document : JSON.stringify(document))
    },
  }
  return { options, fetched, logged }
}
