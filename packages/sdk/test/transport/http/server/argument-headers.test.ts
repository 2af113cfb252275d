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
  { title: 'a plain string', args: { region: 'us-west1' }, headers: { 'mcp-param-region': 'us-west1' } },
  {
    title: 'a string with spaces and punctuation',
    args: { region: 'a b; c=d, "e"' },
    headers: { 'mcp-param-region': 'a b; c=d, "e"' },
  },
  {
    title: 'an encoded string [HDR-037]',
    args: { region: 'Hello, 世界' },
    headers: { 'mcp-param-region': '=?base64?SGVsbG8sIOS4lueVjA==?=' },
  },
  {
    title: 'an encoded string with leading and trailing spaces [HDR-037]',
    args: { region: ' padded ' },
    headers: { 'mcp-param-region': '=?base64?IHBhZGRlZCA=?=' },
  },
  {
    title: 'an encoded line break [HDR-037]',
    args: { region: 'line1\nline2' },
    headers: { 'mcp-param-region': '=?base64?bGluZTEKbGluZTI=?=' },
  },
  {
    title: 'an encoded string that looks encoded [HDR-037]',
    args: { region: '=?base64?literal?=' },
    headers: { 'mcp-param-region': '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=' },
  },
  {
    title: 'an encoded string that needs no encoding [HDR-037]',
    args: { region: 'eu' },
    headers: { 'mcp-param-region': base64('eu') },
  },
  { title: 'an encoded empty string [HDR-037]', args: { region: '' }, headers: { 'mcp-param-region': '=?base64??=' } },
  {
    title: 'an uppercase marker as a literal value [HDR-036]',
    args: { region: '=?BASE64?ZXU=?=' },
    headers: { 'mcp-param-region': '=?BASE64?ZXU=?=' },
  },
  {
    title: 'a marker without its end as a literal value [HDR-036]',
    args: { region: '=?base64?ZXU=' },
    headers: { 'mcp-param-region': '=?base64?ZXU=' },
  },
  {
    title: 'a marker without its beginning as a literal value [HDR-036]',
    args: { region: 'ZXU=?=' },
    headers: { 'mcp-param-region': 'ZXU=?=' },
  },
  {
    title: 'spaces and tabs around a value [HDR-013]',
    args: { region: 'eu' },
    headers: { 'mcp-param-region': ' \teu\t ' },
  },
  { title: 'a number', args: { count: 42 }, headers: { 'mcp-param-count': '42' } },
  { title: 'a number as 42.0 [HDR-043]', args: { count: 42 }, headers: { 'mcp-param-count': '42.0' } },
  { title: 'a negative number', args: { count: -7 }, headers: { 'mcp-param-count': '-7' } },
  {
    title: 'the largest safe integer [HDR-025]',
    args: { count: 2 ** 53 - 1 },
    headers: { 'mcp-param-count': '9007199254740991' },
  },
  {
    title: 'the smallest safe integer [HDR-025]',
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
  { title: 'an argument without annotation', args: { free: 'x' }, headers: {} },
  {
    title: 'several headers at once',
    args: { region: 'eu', count: 0, dry: true },
    headers: { 'mcp-param-region': 'eu', 'mcp-param-count': '0', 'mcp-param-dry-run': 'true' },
  },
  {
    title: 'a header that no argument declares',
    args: { region: 'eu' },
    headers: { 'mcp-param-region': 'eu', 'mcp-param-zone': 'z', 'mcp-param-free': 'x' },
  },
]

const refused: readonly Case[] = [
  { title: 'a different string [HDR-007, HDR-040]', args: { region: 'eu' }, headers: { 'mcp-param-region': 'us' } },
  {
    title: 'a difference in case [HDR-006, HDR-040]',
    args: { region: 'eu' },
    headers: { 'mcp-param-region': 'EU' },
  },
  {
    title: 'a different encoded string [HDR-037, HDR-040]',
    args: { region: 'eu' },
    headers: { 'mcp-param-region': base64('us') },
  },
  {
    title: 'the undecoded form of an encoded string [HDR-037]',
    args: { region: base64('eu') },
    headers: { 'mcp-param-region': base64('eu') },
  },
  {
    title: 'an uppercase marker that is not the literal value [HDR-036]',
    args: { region: 'eu' },
    headers: { 'mcp-param-region': '=?BASE64?ZXU=?=' },
  },
  {
    title: 'Base64 without padding [HDR-038]',
    args: { region: 'eu' },
    headers: { 'mcp-param-region': '=?base64?ZXU?=' },
  },
  {
    title: 'Base64 with invalid characters [HDR-038]',
    args: { region: 'eu' },
    headers: { 'mcp-param-region': '=?base64?ZX*=?=' },
  },
  {
    title: 'Base64url [HDR-038]',
    args: { region: '???' },
    headers: { 'mcp-param-region': '=?base64?Pz8_?=' },
  },
  {
    title: 'Base64 with a space in it [HDR-038]',
    args: { region: 'eu' },
    headers: { 'mcp-param-region': '=?base64?ZX U=?=' },
  },
  {
    title: 'Base64 with non-zero padding bits [HDR-038]',
    args: { region: 'eu' },
    headers: { 'mcp-param-region': '=?base64?ZXV=?=' },
  },
  {
    title: 'Base64 of invalid UTF-8 [HDR-038]',
    args: { region: '\ufffd' },
    headers: { 'mcp-param-region': '=?base64?/w==?=' },
  },
  { title: 'a missing header [HDR-041]', args: { region: 'eu' }, headers: {} },
  { title: 'a missing header of a number [HDR-041]', args: { count: 0 }, headers: {} },
  { title: 'a missing header of false [HDR-041]', args: { dry: false }, headers: {} },
  { title: 'a missing header of an empty string [HDR-041]', args: { region: '' }, headers: {} },
  { title: 'a missing header of a nested argument [HDR-041]', args: { nested: { tenant: 'acme' } }, headers: {} },
  { title: 'a header without its argument [HDR-007]', args: {}, headers: { 'mcp-param-region': 'eu' } },
  { title: 'a different number [HDR-040]', args: { count: 42 }, headers: { 'mcp-param-count': '43' } },
  { title: 'an invalid number [HDR-040]', args: { count: 42 }, headers: { 'mcp-param-count': '42abc' } },
  { title: 'a hexadecimal number [HDR-040]', args: { count: 42 }, headers: { 'mcp-param-count': '0x2a' } },
  { title: 'an empty header for 0 [HDR-040]', args: { count: 0 }, headers: { 'mcp-param-count': '' } },
  {
    title: 'a number above the safe integers [HDR-025]',
    args: { count: 2 ** 53 },
    headers: { 'mcp-param-count': '9007199254740992' },
  },
  {
    title: 'a number below the safe integers [HDR-025]',
    args: { count: -(2 ** 53) },
    headers: { 'mcp-param-count': '-9007199254740992' },
  },
  { title: 'True [HDR-006]', args: { dry: true }, headers: { 'mcp-param-dry-run': 'True' } },
  { title: '1 for true [HDR-040]', args: { dry: true }, headers: { 'mcp-param-dry-run': '1' } },
  {
    title: 'a different nested string [HDR-040]',
    args: { nested: { tenant: 'acme' } },
    headers: { 'mcp-param-tenant': 'evil' },
  },
]

describe(`${modern}: headers that mirror arguments`, () => {
  for (const { title, args, headers } of taken) {
    it(`accepts ${title}`, async () => {
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
    it(`rejects ${title} with 400, -32020 and the id [HDR-008, HDR-009], and does not call the tool`, async () => {
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
    ['nested in null', { nested: null }],
  ] as const) {
    it(`expects no header for an argument that is ${title} [HDR-042]`, async () => {
      const { server } = mirroring()
      await using http = await serve(server)
      await using peer = new Peer(http.url, modern)
      // The schema may reject null by itself; the header is not required.
      const answer = await peer.call('mirror', args)
      expect([answer.status, (await answer.json()).error]).toEqual([200, undefined])
    })
  }

  it('are declared in the listed tool definition [HDR-017]', async () => {
    const { server } = mirroring()
    await using http = await serve(server)
    await using peer = new Peer(http.url, modern)
    const { result } = await (await peer.request('tools/list')).json()
    const tool = (result?.tools as { name: string; inputSchema: { properties: object } }[] | undefined)?.find(
      ({ name }) => name === 'mirror',
    )
    expect(tool?.inputSchema.properties).toMatchObject({ region: { 'x-mcp-header': 'Region' } })
  })

  it('are checked for a mounted server too [HDR-040]', async () => {
    const { server } = mirroring()
    const outer = new McpServer({ name: 'outer', version: '1' }).mount(server, { prefix: 'inner' })
    await using http = await serve(outer)
    await using peer = new Peer(http.url, modern)
    const bad = await peer.call('inner_mirror', { region: 'eu' }, { headers: { 'mcp-param-region': 'us' } })
    expect([bad.status, (await bad.json()).error?.code]).toEqual([400, -32020])
    const good = await peer.call('inner_mirror', { region: 'eu' }, { headers: { 'mcp-param-region': 'eu' } })
    expect(good.status).toBe(200)
  })

  it('are rejected when a value has non-ASCII bytes, even if the body has the same [HDR-039, HDR-012]', async () => {
    const { server, calls } = mirroring()
    await using http = await serve(server)
    const { status, message } = await rawCall(http.port, 'mirror', { region: 'caf\u00e9' }, [
      'Mcp-Param-Region: caf\xe9',
    ])
    expect([status, message.error?.code, message.id]).toEqual([400, -32020, 1])
    expect(calls).toEqual([])
  })

  eachRevision(
    sessionRevisions,
    'are ignored in a session on request: only the body counts [META-022]',
    async (revision) => {
      const { server } = mirroring()
      await using http = await serve(server, { standardHeaders: 'ignore' })
      await using peer = await Peer.open(http.url, revision)
      const answer = await peer.call('mirror', { region: 'eu' }, { headers: { 'mcp-param-region': 'us' } })
      expect((await answer.json()).result?.content?.[0]?.text).toBe('{"region":"eu"}')
    },
  )
})

describe('registering x-mcp-header annotations', () => {
  const text = (name: unknown) => ({ type: 'string', 'x-mcp-header': name })
  const object = (properties: object, rest: object = {}) => ({ type: 'object', properties, ...rest })

  for (const [title, inputSchema] of [
    ['an empty name [HDR-019]', object({ a: text('') })],
    ['a name that is not a string [HDR-020]', object({ a: text(7) })],
    ['a name with a space [HDR-020, HDR-021]', object({ a: text('My Region') })],
    ['a name with a colon [HDR-020, HDR-021]', object({ a: text('Region:') })],
    ['a non-ASCII name [HDR-020, HDR-021]', object({ a: text('Région') })],
    ['a name with a line break [HDR-020]', object({ a: text('Region\r\nX') })],
    ['a name with a parenthesis [HDR-020]', object({ a: text('Region(1)') })],
    ['a duplicate name [HDR-022]', object({ a: text('Region'), b: text('Region') })],
    ['a duplicate name in different case [HDR-022]', object({ a: text('Region'), b: text('REGION') })],
    ['a duplicate name at different depths [HDR-022]', object({ a: text('Region'), b: object({ c: text('region') }) })],
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
    ['the target of a $ref [HDR-026, HDR-027]', object({ a: { $ref: '#/$defs/x' } }, { $defs: { x: text('A') } })],
    ['additional properties [HDR-026]', object({}, { additionalProperties: text('A') })],
    ['the root [HDR-026]', object({}, { 'x-mcp-header': 'A' })],
  ] as const) {
    it(`rejects an annotation: ${title}`, () => {
      const server = new McpServer({ name: 's', version: '1' })
      expect(() => server.registerTool('t', { inputSchema }, () => 'x')).toThrow(/x-mcp-header/)
    })
  }

  it('accepts any token, for every primitive type, at any depth [HDR-020, HDR-023, HDR-026]', () => {
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
