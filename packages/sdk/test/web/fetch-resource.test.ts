import { fetchResource } from 'tenon/client'
import { describe, expect, it } from 'vitest'

const uri = 'https://example.com/report'

const answering = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>, status = 200) => ({
  fetch: async () => new Response(body, { status, headers }),
})

describe('fetchResource', () => {
  it.each(['text/plain; charset=utf-8', 'application/json', 'image/svg+xml', 'application/ld+json'])(
    'fetches text without the MCP server (%s) [RES-029]',
    async (type) => {
      expect(await fetchResource(uri, answering('hé', { 'content-type': type }))).toEqual({
        contents: [{ uri, mimeType: type.split(';')[0], text: 'hé' }],
      })
    },
  )

  it('fetches binary data without the MCP server [RES-029]', async () => {
    const bytes = Uint8Array.from({ length: 20_000 }, (_, index) => index % 256)
    const { contents } = await fetchResource(uri, answering(bytes, { 'content-type': 'application/pdf' }))
    expect(contents).toEqual([{ uri, mimeType: 'application/pdf', blob: Buffer.from(bytes).toString('base64') }])
    const latin = await fetchResource(uri, answering(Uint8Array.of(0xe9), { 'content-type': 'text/plain' }))
    expect(latin.contents).toEqual([{ uri, mimeType: 'text/plain', blob: '6Q==' }])
  })

  it.each(['http://example.com/', 'file:///etc/passwd', 'note://a', 'javascript:alert(1)', ''])(
    'rejects the URI %j',
    async (bad) => {
      await expect(fetchResource(bad)).rejects.toMatchObject({ code: 'invalid-argument' })
    },
  )

  it.each(['127.0.0.1', '192.168.1.1', '169.254.169.254', '[::1]', 'localhost'])(
    'rejects %s, which is not a public address',
    async (host) => {
      await expect(fetchResource(`https://${host}/`)).rejects.toMatchObject({ code: 'http', outcome: 'not-sent' })
    },
  )

  it('limits the size, and rejects error responses', async () => {
    await expect(fetchResource(uri, { ...answering('x'.repeat(11), {}), maxBytes: 10 })).rejects.toThrow(
      'larger than 10',
    )
    await expect(fetchResource(uri, answering('no', {}, 404))).rejects.toMatchObject({
      status: 404,
      outcome: 'refused',
    })
  })

  it('sends no credentials', async () => {
    const asked: Record<string, string>[] = []
    const fetch = async (_url: string, { headers }: { headers: Record<string, string> }) => {
      asked.push(headers)
      return new Response('x')
    }
    await fetchResource(uri, { fetch })
    expect(Object.keys(asked[0]!)).not.toContain('authorization')
    expect(Object.keys(asked[0]!)).not.toContain('cookie')
    await expect(fetchResource('https://user:pw@example.com/', { fetch })).rejects.toThrow('user name or password')
  })
})
