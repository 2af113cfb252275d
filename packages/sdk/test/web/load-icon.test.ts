import { type LoadIconOptions, loadIcon } from 'tenon/client'
import { describe, expect, it } from 'vitest'
import { jpeg, png, svg, webp } from './pictures.ts'

const serverUrl = 'https://mcp.example.com/mcp'
const src = 'https://mcp.example.com/icon'

interface Asked {
  url: string
  headers: Record<string, string>
}

type Answer = { status?: number; headers?: Record<string, string>; body?: Uint8Array }

/** A fake `fetch` with the given responses that records its requests. */
function web(answers: Record<string, Answer>) {
  const asked: Asked[] = []
  const fetch: NonNullable<LoadIconOptions['fetch']> = async (url, { headers, redirect }) => {
    expect(redirect).toBe('manual')
    asked.push({ url, headers })
    const { status = 200, headers: own = {}, body } = answers[url] ?? { status: 404 }
    return new Response(body ? new Uint8Array(body) : null, { status, headers: own })
  }
  return { asked, fetch }
}

const dataUrl = (bytes: Buffer, type: string) => `data:${type};base64,${bytes.toString('base64')}`
const load = (bytes: Buffer, options: LoadIconOptions = {}, mimeType?: string) =>
  loadIcon({ src, ...(mimeType && { mimeType }) }, { serverUrl, ...web({ [src]: { body: bytes } }), ...options })

describe('an icon', () => {
  it.each([
    ['a PNG', png(48, 32), 'image/png', 'image/png'],
    ['a JPEG', jpeg(48, 32), 'image/jpeg', 'image/jpeg'],
    ['a JPEG declared as image/jpg', jpeg(48, 32), 'image/jpg', 'image/jpeg'],
    ['a lossy WebP', webp.lossy(48, 32), 'image/webp', 'image/webp'],
    ['a lossless WebP', webp.lossless(48, 32), 'image/webp', 'image/webp'],
    ['an extended WebP', webp.extended(48, 32), 'image/webp', 'image/webp'],
  ])('can be %s [ICON-002, ICON-003, ICON-007]', async (_name, bytes, declared, actual) => {
    const expected = { mimeType: actual, width: 48, height: 32 }
    expect(await load(bytes, {}, declared)).toMatchObject(expected)
    expect(await load(bytes)).toMatchObject(expected)
    const inline = await loadIcon({ src: dataUrl(bytes, declared) })
    expect(inline).toMatchObject(expected)
    expect(Buffer.from(inline.bytes).equals(bytes)).toBe(true)
  })

  it('can be an SVG if the application allows it [ICON-003, ICON-009]', async () => {
    await expect(load(svg(), {}, 'image/svg+xml')).rejects.toThrow('SVG is not allowed (allowSvg)')
    const drawing = svg(undefined, '<?xml version="1.0" encoding="UTF-8"?>\n<!-- a logo -->')
    expect(await load(drawing, { allowSvg: true }, 'image/svg+xml')).toMatchObject({ mimeType: 'image/svg+xml' })
    const inline = `data:image/svg+xml,${encodeURIComponent(svg().toString())}`
    expect(await loadIcon({ src: inline }, { allowSvg: true })).toMatchObject({ width: undefined })
  })

  it.each([
    ['gradients and filters', '<defs><linearGradient id="a"><stop/></linearGradient></defs><feGaussianBlur/>'],
    ['a style', '<style>rect { fill: url(#a) }</style><rect/>'],
    ['a style in CDATA', '<style type="text/css">\n<![CDATA[ rect { fill: red } ]]>\n</style><rect/>'],
    ['the predefined entities', '<title>A &amp; B &lt;&gt;&quot;&apos;</title>'],
    [
      'xlink',
      '<g xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:svg="http://www.w3.org/2000/svg"><use xlink:href="#a"/></g>',
    ],
  ])('can be an SVG with %s [ICON-009]', async (_name, content) => {
    expect(await load(svg(content), { allowSvg: true })).toMatchObject({ mimeType: 'image/svg+xml' })
  })

  it.each([
    'http://mcp.example.com/icon',
    'javascript:alert(1)',
    'file:///etc/passwd',
    'ftp://mcp.example.com/icon',
    'ws://mcp.example.com/icon',
    'wss://mcp.example.com/icon',
    'blob:https://mcp.example.com/1',
    'vscode://open',
    'JavaScript:alert(1)',
    ' javascript:alert(1)',
    '/relative.png',
    '',
  ])('is not loaded from %j [ICON-004]', async (bad) => {
    const { asked, fetch } = web({})
    const trustedOrigins = ['https://mcp.example.com']
    await expect(
      loadIcon({ src: bad }, { serverUrl: 'http://mcp.example.com/mcp', trustedOrigins, fetch }),
    ).rejects.toMatchObject({
      code: 'invalid-response',
    })
    expect(asked).toEqual([])
  })

  it('is not loaded from a src that is not a string [ICON-004]', async () => {
    for (const bad of [undefined, null, 7, {}])
      await expect(loadIcon({ src: bad } as never)).rejects.toThrow('not a URL')
    await expect(loadIcon(undefined as never)).rejects.toThrow('not a URL')
  })

  it.each([
    ['another origin', 'https://evil.example.com/icon', 'another origin'],
    ['another port', 'https://mcp.example.com:8443/icon', 'another origin'],
    ['a subdomain', 'https://a.mcp.example.com/icon', 'another origin'],
    ['http:', 'http://mcp.example.com/other', 'another origin'],
    ['data:', 'data:image/png;base64,AAAA', 'another origin'],
    ['no URL', 'https://', 'not a URL'],
  ])('is not redirected to %s [ICON-005]', async (_name, location, why) => {
    const { asked, fetch } = web({ [src]: { status: 302, headers: { location } } })
    const trustedOrigins = ['https://evil.example.com', 'https://a.mcp.example.com']
    await expect(loadIcon({ src }, { serverUrl, trustedOrigins, fetch })).rejects.toThrow(why)
    expect(asked).toHaveLength(1)
  })

  it('follows a few redirects within its origin [ICON-005]', async () => {
    const steps = web({
      [src]: { status: 301, headers: { location: '/b' } },
      'https://mcp.example.com/b': { status: 307, headers: { location: 'c?x' } },
      'https://mcp.example.com/c?x': { body: png(1, 1) },
    })
    expect(await loadIcon({ src }, { serverUrl, ...steps })).toMatchObject({ mimeType: 'image/png' })
    const loop = web({ [src]: { status: 302, headers: { location: '/icon' } } })
    await expect(loadIcon({ src }, { serverUrl, ...loop })).rejects.toThrow('redirects more than 3 times')
    expect(loop.asked).toHaveLength(4)
  })

  it('is loaded without credentials [ICON-006]', async () => {
    const { asked, fetch } = web({ [src]: { body: png(1, 1), headers: { 'set-cookie': 'a=b' } } })
    await loadIcon({ src }, { serverUrl, fetch })
    expect(asked).toEqual([{ url: src, headers: { accept: 'image/*' } }])
    const secret = 'https://user:password@mcp.example.com/icon'
    await expect(loadIcon({ src: secret }, { serverUrl, fetch })).rejects.toThrow('user name or password')
  })

  it.each([
    ['HTML', Buffer.from('<!doctype html><script>alert(1)</script>')],
    ['a GIF', Buffer.from('GIF89a\x01\0\x01\0\0\0\0;', 'latin1')],
    ['text', Buffer.from('hello')],
    ['nothing', Buffer.alloc(0)],
    ['a truncated PNG', png(48, 48).subarray(0, 20)],
    ['a truncated JPEG', jpeg(48, 48).subarray(0, 24)],
    ['a JPEG without a frame', Buffer.from([0xff, 0xd8, 0xff, 0xd9])],
    ['a truncated WebP', webp.extended(48, 48).subarray(0, 26)],
    ['a PNG without width', png(0, 48)],
    ['HTML that mentions svg', Buffer.from('<html><svg></svg></html>')],
  ])('is rejected if it is %s, whatever its declared type [ICON-007]', async (_name, bytes) => {
    await expect(load(bytes, { allowSvg: true }, 'image/png')).rejects.toThrow('not a PNG, JPEG, WebP or SVG')
    await expect(loadIcon({ src: dataUrl(bytes, 'image/png') }, { allowSvg: true })).rejects.toThrow('rejected')
  })

  it('is rejected if its declared type differs from its content [ICON-007]', async () => {
    await expect(load(png(1, 1), {}, 'image/jpeg')).rejects.toThrow(
      'declared type is "image/jpeg", but it is image/png',
    )
    await expect(loadIcon({ src: dataUrl(jpeg(1, 1), 'image/png') })).rejects.toThrow('but it is image/jpeg')
    const typed = (type: string) => web({ [src]: { body: png(1, 1), headers: { 'content-type': type } } })
    await expect(loadIcon({ src }, { serverUrl, ...typed('text/html') })).rejects.toThrow('but it is image/png')
    await expect(loadIcon({ src }, { serverUrl, ...typed('image/svg+xml') })).rejects.toThrow('but it is image/png')
    expect(await loadIcon({ src }, { serverUrl, ...typed('Image/PNG; a=b') })).toMatchObject({ width: 1 })
  })

  it.each([
    ['wide PNG', png(100_000, 1), '100000 × 1 pixels'],
    ['high PNG', png(1, 2 ** 31), 'pixels'],
    ['large JPEG', jpeg(65_500, 65_500), '65500 × 65500 pixels'],
    ['large WebP', webp.extended(16_000, 16_000), '16000 × 16000 pixels'],
    ['large lossless WebP', webp.lossless(16_384, 1), '16384 × 1 pixels'],
    ['PNG of many frames', png(1, 1, { frames: 1_000_000 }), '1000000 frames'],
    ['PNG with more frames than declared', png(1, 1, { frames: 2, controls: 61 }), '61 frames'],
    ['WebP of many frames', webp.extended(1, 1, 61), '61 frames'],
  ])('is rejected if it is a %s [ICON-008]', async (_name, bytes, why) => {
    await expect(load(bytes)).rejects.toThrow(why)
  })

  it('is rejected if the file is too large, before all of it is read [ICON-008, ICON-009]', async () => {
    const large = Buffer.concat([png(1, 1), Buffer.alloc(300_000)])
    await expect(load(large)).rejects.toThrow('larger than 262144 bytes')
    await expect(loadIcon({ src: dataUrl(large, 'image/png') })).rejects.toThrow('larger than 262144 bytes')
    await expect(loadIcon({ src: `data:image/png,${'%00'.repeat(300_000)}` })).rejects.toThrow('larger than')
    expect(await load(large, { maxBytes: 1_000_000 })).toMatchObject({ width: 1 })
    let read = 0
    const endless = new ReadableStream({
      pull(controller) {
        read += 65_536
        controller.enqueue(new Uint8Array(65_536))
      },
    })
    await expect(loadIcon({ src }, { serverUrl, fetch: async () => new Response(endless) })).rejects.toThrow(
      'larger than',
    )
    expect(read).toBeLessThan(1_000_000)
  })

  it('can have custom limits [ICON-009]', async () => {
    await expect(load(png(65, 1), { maxDimension: 64 })).rejects.toThrow('more than 64 on a side (maxDimension)')
    await expect(load(png(1, 1, { frames: 2 }), { maxFrames: 1 })).rejects.toThrow('more than 1 (maxFrames)')
    await expect(load(png(1, 1), { maxBytes: 20 })).rejects.toThrow('20 bytes')
  })

  it.each([
    ['a script', svg('<script>alert(1)</script>')],
    ['a script with a prefix', svg('<s:script xmlns:s="http://www.w3.org/2000/svg">1</s:script>')],
    ['an event handler', svg('<g onload="alert(1)"/>')],
    ['an event handler right after a quote', svg('<g id="a"onclick="alert(1)"/>')],
    ['foreign content', svg('<foreignObject><p/></foreignObject>')],
    ['an entity', svg('&x;', '<!DOCTYPE svg [<!ENTITY x "y">]>')],
    ['a stylesheet', svg('', '<?xml version="1.0"?><?xml-stylesheet href="https://evil.example.com/a.css"?>')],
    ['a link', svg('<a href="https://evil.example.com"><g/></a>')],
    ['a link to a script', svg('<a xlink:href="javascript:alert(1)"><g/></a>')],
    ['an escaped link', svg('<a href="&#106;avascript:alert(1)"><g/></a>')],
    ['a character reference in a style attribute', svg('<rect style="fill:&#117;rl(https://evil.example.com/x)"/>')],
    ['a hexadecimal character reference', svg('<rect style="fill:&#x75;rl(https://evil.example.com/x)"/>')],
    ['a character reference in a style', svg('<style>&#64;import "https://evil.example.com/a.css"</style>')],
    ['an entity that is not predefined', svg('<text>&copy;</text>')],
    ['a comment within a style keyword', svg('<style>@im<!-- -->port "https://evil.example.com/a.css"</style>')],
    ['CDATA within a style keyword', svg('<style>@im<![CDATA[port "https://evil.example.com/a.css"]]></style>')],
    ['an element within a style keyword', svg('<style type="text/css">@im<g/>port "//evil.example.com/a"</style>')],
    ['a link that reports clicks', svg('<a href="#x" ping="https://evil.example.com/"><g/></a>')],
    ['HTML with a prefix', svg('<h:form xmlns:h="http://www.w3.org/1999/xhtml" action="//evil.example.com"/>')],
    ['HTML with the prefix of SVG', svg('<svg:meta xmlns:svg="http://www.w3.org/1999/xhtml" http-equiv="refresh"/>')],
    ['HTML as the default namespace', svg('<title xmlns="http://www.w3.org/1999/xhtml"/>')],
    ['HTML without a namespace', svg('<meta http-equiv="refresh" content="0;https://evil.example.com/"/>')],
    ['a foreign namespace', svg('<g xmlns:h="http://www.w3.org/1999/xhtml"/>')],
    ['an image filter', svg('<filter><feImage href="#a"/></filter>')],
    ['an image', svg('<image href="data:image/png;base64,AAAA"/>')],
    ['an imported style', svg('<style>@import "https://evil.example.com/a.css"</style>')],
    ['an escaped style', svg('<style>@\\69mport "x"</style>')],
    ['a fill from another origin', svg('<g fill="url(https://evil.example.com/#a)"/>')],
    ['an animated reference', svg('<set attributeName="href" to="x"/>')],
    ['another encoding', svg('', '<?xml version="1.0" encoding="UTF-7"?>')],
    ['bytes that are not UTF-8', Buffer.concat([svg(), Buffer.from([0xff])])],
    ['very many elements', svg('<g/>'.repeat(10_001))],
    ['too many use elements', svg('<use href="#a"/>'.repeat(21))],
  ])('is rejected if it is an SVG with %s [ICON-007, ICON-009]', async (_name, bytes) => {
    await expect(load(bytes, { allowSvg: true, maxBytes: 1_000_000 })).rejects.toThrow(/the SVG|not a PNG/)
  })

  it.each([
    ['on another domain', 'https://evil.example.com/icon'],
    ['on another port', 'https://mcp.example.com:8443/icon'],
    ['on a subdomain', 'https://cdn.mcp.example.com/icon'],
    ['on a domain with the same suffix', 'https://evilmcp.example.com/icon'],
  ])('is rejected if it is %s, unless that origin is trusted [ICON-010]', async (_name, other) => {
    const { asked, fetch } = web({ [other]: { body: png(1, 1) } })
    await expect(loadIcon({ src: other }, { serverUrl, fetch })).rejects.toThrow('trustedOrigins')
    expect(asked).toEqual([])
    const trustedOrigins = [new URL(other).origin]
    expect(await loadIcon({ src: other }, { serverUrl, trustedOrigins, fetch })).toMatchObject({ width: 1 })
    expect(await loadIcon({ src: other }, { trustedOrigins, fetch })).toMatchObject({ width: 1 })
  })

  it('of a server without a URL is loaded only from a data: URL or a trusted origin [ICON-010]', async () => {
    await expect(loadIcon({ src }, web({}))).rejects.toThrow('no serverUrl was given')
  })

  it.each(['127.0.0.1', '10.0.0.1', '169.254.169.254', '[::1]'])(
    'is not loaded from %s, which is not a public address',
    async (host) => {
      const { asked, fetch } = web({})
      await expect(
        loadIcon({ src: `https://${host}/icon` }, { serverUrl: `https://${host}/mcp`, fetch }),
      ).rejects.toMatchObject({
        code: 'http',
        outcome: 'not-sent',
      })
      expect(asked).toEqual([])
    },
  )
})
