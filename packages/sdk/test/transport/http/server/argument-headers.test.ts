import { McpServer } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { Peer } from '../../../kit/http-peer.ts'
import { eachRevision, modern, sessionRevisions } from '../../../kit/revisions.ts'
import { serve } from '../../../kit/serve-http.ts'
import { base64, mirroring, rawCall } from './headers-support.ts'

interface Case {
  readonly title: string
  readonly args: Record<string, unknown>
  readonly headers: Record<string, string | undefined>
}

const taken: readonly Case[] = [
  { title: 'a plain text', args: { region: 'us-west1' }, headers: { 'mcp-param-region': 'us-west1' } },
  {
    title: 'a text with blanks and punctuation',
    args: { region: 'a b; c=d, "e"' },
    headers: { 'mcp-param-region': 'a b; c=d, "e"' },
  },
  {
    title: 'an encoded text [HDR-037]',
    args: { region: 'Hello, 世界' },
    headers: { 'mcp-param-region': '=?base64?SGVsbG8sIOS4lueVjA==?=' },
  },
  {
    title: 'an encoded text with blanks at the ends [HDR-037]',
    args: { region: ' padded ' },
    headers: { 'mcp-param-region': '=?base64?IHBhZGRlZCA=?=' },
  },
  {
    title: 'an encoded line break [HDR-037]',
    args: { region: 'line1\nline2' },
    headers: { 'mcp-param-region': '=?base64?bGluZTEKbGluZTI=?=' },
  },
  {
    title: 'an encoded text that looks encoded [HDR-037]',
    args: { region: '=?base64?literal?=' },
    headers: { 'mcp-param-region': '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=' },
  },
  {
    title: 'an encoded text that needs no encoding [HDR-037]',
    args: { region: 'eu' },
    headers: { 'mcp-param-region': base64('eu') },
  },
  { title: 'the empty text, encoded [HDR-037]', args: { region: '' }, headers: { 'mcp-param-region': '=?base64??=' } },
  {
    title: 'a marker in capitals as itself [HDR-036]',
    args: { region: '=?BASE64?ZXU=?=' },
    headers: { 'mcp-param-region': '=?BASE64?ZXU=?=' },
  },
  {
    title: 'a marker without its end as itself [HDR-036]',
    args: { region: '=?base64?ZXU=' },
    headers: { 'mcp-param-region': '=?base64?ZXU=' },
  },
  {
    title: 'a marker without its beginning as itself [HDR-036]',
    args: { region: 'ZXU=?=' },
    headers: { 'mcp-param-region': 'ZXU=?=' },
  },
  {
    title: 'blanks and tabs around a value [HDR-013]',
    args: { region: 'eu' },
    headers: { 'mcp-param-region': ' \teu\t ' },
  },
  { title: 'a number', args: { count: 42 }, headers: { 'mcp-param-count': '42' } },
  { title: 'a number as 42.0 [HDR-043]', args: { count: 42 }, headers: { 'mcp-param-count': '42.0' } },
  { title: 'a negative number', args: { count: -7 }, headers: { 'mcp-param-count': '-7' } },
  {
    title: 'the largest number [HDR-025]',
    args: { count: 2 ** 53 - 1 },
    headers: { 'mcp-param-count': '9007199254740991' },
  },
  {
    title: 'the smallest number [HDR-025]',
    args: { count: -(2 ** 53) + 1 },
    headers: { 'mcp-param-count': '-9007199254740991' },
  },
  { title: 'true', args: { dry: true }, headers: { 'mcp-param-dry-run': 'true' } },
  { title: 'false', args: { dry: false }, headers: { 'mcp-param-dry-run': 'false' } },
  {
    title: 'a nested argument [HDR-017, HDR-026]',
    args: { nested: { tenant: 'acme' } },
    headers: { 'mcp-param-tenant': 'acme' },
  },
  { title: 'no arguments and no headers [HDR-042]', args: {}, headers: {} },
  { title: 'an argument that nothing is said of', args: { free: 'x' }, headers: {} },
  {
    title: 'several at once',
    args: { region: 'eu', count: 0, dry: true },
    headers: { 'mcp-param-region': 'eu', 'mcp-param-count': '0', 'mcp-param-dry-run': 'true' },
  },
  {
    title: 'a header that no argument asks for',
    args: { region: 'eu' },
    headers: { 'mcp-param-region': 'eu', 'mcp-param-zone': 'z', 'mcp-param-free': 'x' },
  },
]

const refused: readonly Case[] = [
  { title: 'another text [HDR-007, HDR-040]', args: { region: 'eu' }, headers: { 'mcp-param-region': 'us' } },
  {
    title: 'another case of letters [HDR-006, HDR-040]',
    args: { region: 'eu' },
    headers: { 'mcp-param-region': 'EU' },
  },
  {
    title: 'an encoded other text [HDR-037, HDR-040]',
    args: { region: 'eu' },
    headers: { 'mcp-param-region': base64('us') },
  },
  {
    title: 'the undecoded form of an encoded text [HDR-037]',
    args: { region: base64('eu') },
    headers: { 'mcp-param-region': base64('eu') },
  },
  {
    title: 'a marker in capitals that is not the text itself [HDR-036]',
    args: { region: 'eu' },
    headers: { 'mcp-param-region': '=?BASE64?ZXU=?=' },
  },
  {
    title: 'Base64 without padding [HDR-038]',
    args: { region: 'eu' },
    headers: { 'mcp-param-region': '=?base64?ZXU?=' },
  },
  {
    title: 'Base64 with letters that it does not have [HDR-038]',
    args: { region: 'eu' },
    headers: { 'mcp-param-region': '=?base64?ZX*=?=' },
  },
  {
    title: 'Base64 of the URL kind [HDR-038]',
    args: { region: '???' },
    headers: { 'mcp-param-region': '=?base64?Pz8_?=' },
  },
  {
    title: 'Base64 with a blank in it [HDR-038]',
    args: { region: 'eu' },
    headers: { 'mcp-param-region': '=?base64?ZX U=?=' },
  },
  {
    title: 'Base64 with bits left over [HDR-038]',
    args: { region: 'eu' },
    headers: { 'mcp-param-region': '=?base64?ZXV=?=' },
  },
  {
    title: 'Base64 of what is no UTF-8 [HDR-038]',
    args: { region: '\ufffd' },
    headers: { 'mcp-param-region': '=?base64?/w==?=' },
  },
  { title: 'a missing header [HDR-041]', args: { region: 'eu' }, headers: {} },
  { title: 'a missing header of a number [HDR-041]', args: { count: 0 }, headers: {} },
  { title: 'a missing header of false [HDR-041]', args: { dry: false }, headers: {} },
  { title: 'a missing header of an empty text [HDR-041]', args: { region: '' }, headers: {} },
  { title: 'a missing header of a nested argument [HDR-041]', args: { nested: { tenant: 'acme' } }, headers: {} },
  { title: 'a header without its argument [HDR-007]', args: {}, headers: { 'mcp-param-region': 'eu' } },
  { title: 'another number [HDR-040]', args: { count: 42 }, headers: { 'mcp-param-count': '43' } },
  { title: 'a number that is none [HDR-040]', args: { count: 42 }, headers: { 'mcp-param-count': '42abc' } },
  { title: 'a number in hexadecimal [HDR-040]', args: { count: 42 }, headers: { 'mcp-param-count': '0x2a' } },
  { title: 'an empty header for 0 [HDR-040]', args: { count: 0 }, headers: { 'mcp-param-count': '' } },
  {
    title: 'a number beyond the safe ones [HDR-025]',
    args: { count: 2 ** 53 },
    headers: { 'mcp-param-count': '9007199254740992' },
  },
  {
    title: 'a number below the safe ones [HDR-025]',
    args: { count: -(2 ** 53) },
    headers: { 'mcp-param-count': '-9007199254740992' },
  },
  { title: 'True [HDR-006]', args: { dry: true }, headers: { 'mcp-param-dry-run': 'True' } },
  { title: '1 for true [HDR-040]', args: { dry: true }, headers: { 'mcp-param-dry-run': '1' } },
  {
    title: 'another nested text [HDR-040]',
    args: { nested: { tenant: 'acme' } },
    headers: { 'mcp-param-tenant': 'evil' },
  },
]

describe(`${modern}: headers that repeat arguments`, () => {
  for (const { title, args, headers } of taken) {
    it(`takes ${title}`, async () => {
      const { server } = mirroring()
      await using http = await serve(server)
      await using peer = new Peer(http.url, modern)
      const answer = await peer.call('mirror', args, { headers })
      const { result, error } = await answer.json()
      expect([answer.status, error]).toEqual([200, undefined])
      expect(JSON.parse(result?.content?.[0]?.text ?? '')).toEqual(args)
    })
  }

  for (const { title, args, headers } of refused) {
    it(`refuses ${title} with 400, -32020 and the id [HDR-008, HDR-009], and calls nothing`, async () => {
      const { server, calls } = mirroring()
      await using http = await serve(server)
      await using peer = new Peer(http.url, modern)
      const answer = await peer.call('mirror', args, { id: 'mine', headers })
      const { id, error } = await answer.json()
      expect([answer.status, answer.type, error?.code, id]).toEqual([400, 'application/json', -32020, 'mine'])
      expect(calls).toEqual([])
    })
  }

  for (const [title, args] of [
    ['null', { region: null, count: null }],
    ['absent in something that is null', { nested: null }],
  ] as const) {
    it(`expects no header for an argument that is ${title} [HDR-042]`, async () => {
      const { server } = mirroring()
      await using http = await serve(server)
      await using peer = new Peer(http.url, modern)
      // The schema may have its own opinion of null; a header is not missed.
      const answer = await peer.call('mirror', args)
      expect([answer.status, (await answer.json()).error]).toEqual([200, undefined])
    })
  }

  it('are part of the tool definition as it is listed [HDR-017]', async () => {
    const { server } = mirroring()
    await using http = await serve(server)
    await using peer = new Peer(http.url, modern)
    const { result } = await (await peer.request('tools/list')).json()
    const tool = (result?.tools as { name: string; inputSchema: { properties: object } }[] | undefined)?.find(
      ({ name }) => name === 'mirror',
    )
    expect(tool?.inputSchema.properties).toMatchObject({ region: { 'x-mcp-header': 'Region' } })
  })

  it('hold for a mounted server too [HDR-040]', async () => {
    const { server } = mirroring()
    const outer = new McpServer({ name: 'outer', version: '1' }).mount(server, { prefix: 'inner' })
    await using http = await serve(outer)
    await using peer = new Peer(http.url, modern)
    const bad = await peer.call('inner_mirror', { region: 'eu' }, { headers: { 'mcp-param-region': 'us' } })
    expect([bad.status, (await bad.json()).error?.code]).toEqual([400, -32020])
    const good = await peer.call('inner_mirror', { region: 'eu' }, { headers: { 'mcp-param-region': 'eu' } })
    expect(good.status).toBe(200)
  })

  it('are refused when a value has bytes beyond ASCII, even if they are those of the body [HDR-039, HDR-012]', async () => {
    const { server, calls } = mirroring()
    await using http = await serve(server)
    const { status, message } = await rawCall(http.port, 'mirror', { region: 'caf\u00e9' }, [
      'Mcp-Param-Region: caf\xe9',
    ])
    expect([status, message.error?.code, message.id]).toEqual([400, -32020, 1])
    expect(calls).toEqual([])
  })

  eachRevision(sessionRevisions, 'are nothing to a session: the body alone counts [META-022]', async (revision) => {
    const { server } = mirroring()
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, revision)
    const answer = await peer.call('mirror', { region: 'eu' }, { headers: { 'mcp-param-region': 'us' } })
    expect((await answer.json()).result?.content?.[0]?.text).toBe('{"region":"eu"}')
  })
})

describe('annotations that cannot be registered', () => {
  const text = (name: unknown) => ({ type: 'string', 'x-mcp-header': name })
  const object = (properties: object, rest: object = {}) => ({ type: 'object', properties, ...rest })

  for (const [title, inputSchema] of [
    ['an empty name [HDR-019]', object({ a: text('') })],
    ['a name that is no text [HDR-020]', object({ a: text(7) })],
    ['a name with a blank [HDR-020, HDR-021]', object({ a: text('My Region') })],
    ['a name with a colon [HDR-020, HDR-021]', object({ a: text('Region:') })],
    ['a name beyond ASCII [HDR-020, HDR-021]', object({ a: text('Région') })],
    ['a name with a line break [HDR-020]', object({ a: text('Region\r\nX') })],
    ['a name with a parenthesis [HDR-020]', object({ a: text('Region(1)') })],
    ['a name twice [HDR-022]', object({ a: text('Region'), b: text('Region') })],
    ['a name twice in different case [HDR-022]', object({ a: text('Region'), b: text('REGION') })],
    ['a name twice at different depths [HDR-022]', object({ a: text('Region'), b: object({ c: text('region') }) })],
    ['a number [HDR-023]', object({ a: { type: 'number', 'x-mcp-header': 'A' } })],
    ['an object [HDR-023]', object({ a: { ...object({}), 'x-mcp-header': 'A' } })],
    ['an array [HDR-023]', object({ a: { type: 'array', items: { type: 'string' }, 'x-mcp-header': 'A' } })],
    ['null [HDR-023]', object({ a: { type: 'null', 'x-mcp-header': 'A' } })],
    ['no type at all [HDR-023]', object({ a: { 'x-mcp-header': 'A' } })],
    ['the items of an array [HDR-026, HDR-027]', object({ a: { type: 'array', items: text('A') } })],
    ['a branch of oneOf [HDR-026, HDR-027]', object({}, { oneOf: [object({ a: text('A') })] })],
    ['a branch of anyOf [HDR-026, HDR-027]', object({}, { anyOf: [object({ a: text('A') })] })],
    ['a branch of allOf [HDR-026, HDR-027]', object({}, { allOf: [object({ a: text('A') })] })],
    ['a not [HDR-026, HDR-027]', object({}, { not: object({ a: text('A') }) })],
    ['an if [HDR-026, HDR-027]', object({}, { if: object({ a: text('A') }) })],
    [
      'a then [HDR-026, HDR-027]',
      object(
        {},
        Object.fromEntries([
          ['if', {}],
          ['then', object({ a: text('A') })],
        ]),
      ),
    ],
    ['an else [HDR-026, HDR-027]', object({}, { if: {}, else: object({ a: text('A') }) })],
    ['what a $ref leads to [HDR-026, HDR-027]', object({ a: { $ref: '#/$defs/x' } }, { $defs: { x: text('A') } })],
    ['additional properties [HDR-026]', object({}, { additionalProperties: text('A') })],
    ['the root [HDR-026]', object({}, { 'x-mcp-header': 'A' })],
  ] as const) {
    it(`on ${title}`, () => {
      const server = new McpServer({ name: 's', version: '1' })
      expect(() => server.registerTool('t', { inputSchema }, () => 'x')).toThrow(/x-mcp-header/)
    })
  }

  it('all others can: any token, of every type, at any depth [HDR-020, HDR-023, HDR-026]', () => {
    const server = new McpServer({ name: 's', version: '1' })
    const inputSchema = object({
      a: text("!#$%&'*+-.^_`|~09azAZ"),
      b: { type: 'integer', 'x-mcp-header': 'B' },
      c: { type: 'boolean', 'x-mcp-header': 'C' },
      d: object({ e: object({ f: text('F') }) }),
    })
    expect(() => server.registerTool('t', { inputSchema }, () => 'x')).not.toThrow()
  })
})
