import { describe, expect, it } from 'vitest'
import { comparePins, definitionsDigest, pinDefinitions } from '../../src/host/pins.ts'
import { definitionsWith, toolNamed } from './corpus/definitions.ts'

const approved = definitionsWith({
  identity: { name: 'shop', version: '1.0.0' },
  instructions: 'Ask before you buy.',
  tools: [toolNamed('search'), toolNamed('buy', 'Buys a product.')],
  prompts: [{ name: 'gift', description: 'Finds a gift.' }],
  resourceTemplates: [{ name: 'product', uriTemplate: 'shop:///{id}' }],
  resources: [{ name: 'cart', uri: 'shop:///cart' }],
})

describe('pins of definitions [HOST-008]', () => {
  it('accepts the same definitions in another order, also after the pin was stored as JSON', async () => {
    const pinned = JSON.parse(JSON.stringify(await pinDefinitions(approved)))
    const now = structuredClone({ ...approved, tools: [...approved.tools].reverse() })
    expect(await comparePins(pinned, now)).toEqual({ outcome: 'same' })
  })

  it('accepts another list of resources, because it changes all the time', async () => {
    const now = { ...approved, resources: [{ name: 'order', uri: 'shop:///order/1' }] }
    expect(await comparePins(await pinDefinitions(approved), now)).toEqual({ outcome: 'same' })
  })

  it.each([
    { title: 'an added tool', now: { tools: [...approved.tools, toolNamed('refund')] }, what: 'added tool refund' },
    { title: 'a removed tool', now: { tools: approved.tools.slice(1) }, what: 'removed tool search' },
    {
      title: 'a renamed tool',
      now: { tools: [toolNamed('search'), toolNamed('buy_now', 'Buys a product.')] },
      what: 'removed tool buy',
    },
    {
      title: 'a changed description',
      now: { tools: [toolNamed('search'), toolNamed('buy', 'Buys.')] },
      what: 'changed tool buy',
    },
    {
      title: 'a changed parameter',
      now: { tools: [toolNamed('search', undefined, 'A secret.'), approved.tools[1]!] },
      what: 'changed tool search',
    },
    {
      title: 'a tool that appears twice',
      now: { tools: [...approved.tools, approved.tools[0]!] },
      what: 'added tool search',
    },
    { title: 'changed instructions', now: { instructions: 'Buy everything.' }, what: 'changed instructions' },
    { title: 'new instructions', now: { instructions: undefined }, what: 'removed instructions' },
    { title: 'a changed prompt', now: { prompts: [{ name: 'gift' }] }, what: 'changed prompt gift' },
    {
      title: 'a changed template',
      now: { resourceTemplates: [{ name: 'product', uriTemplate: 'file:///{+path}' }] },
      what: 'removed resource template shop:///{id}',
    },
    {
      title: 'a new version of the server',
      now: { identity: { name: 'shop', version: '1.0.1' } },
      what: 'changed server',
    },
    { title: 'another server', now: { identity: { name: 'shopp', version: '1.0.0' } }, what: 'changed server' },
  ])('reports $title', async ({ now, what }) => {
    const comparison = await comparePins(await pinDefinitions(approved), { ...approved, ...now })
    if (comparison.outcome !== 'changed') throw new Error('The change was not found.')
    expect(comparison.changes.map((change) => `${change.kind} ${change.what}`)).toContain(what)
  })

  it('reports everything as added without a pin', async () => {
    const comparison = await comparePins(undefined, approved)
    expect(comparison).toMatchObject({ outcome: 'changed', changes: new Array(6).fill({ kind: 'added' }) })
  })

  it('finds a change in the middle of a text that is too long to store', async () => {
    const long = (middle: string) => 'a'.repeat(50_000) + middle + 'b'.repeat(50_000)
    const before = definitionsWith({ tools: [toolNamed('long', long('x'))], instructions: long('x') })
    const now = definitionsWith({ tools: [toolNamed('long', long('y'))], instructions: long('y') })
    expect(await comparePins(await pinDefinitions(before), now)).toEqual({
      outcome: 'changed',
      changes: [
        { kind: 'changed', what: 'instructions', details: ['changed in a part that is too long to show'] },
        { kind: 'changed', what: 'tool long', details: ['changed in a part that is too long to show'] },
      ],
    })
  })

  it('bounds the size of what is stored, and still finds every change', async () => {
    const icons = [{ src: `data:image/png;base64,${'A'.repeat(3_000)}` }]
    const tools = Array.from({ length: 2_000 }, (_, index) => ({
      ...toolNamed(`tool_${index}`, 'd'.repeat(3_000)),
      icons,
    }))
    const pinned = await pinDefinitions(definitionsWith({ tools }))
    expect(JSON.stringify(pinned).length).toBeLessThan(2 * 1_024 * 1_024)
    const changed = tools.map((tool, index) => (index === 1_999 ? { ...tool, description: 'Sends it.' } : tool))
    expect(await comparePins(pinned, definitionsWith({ tools: changed }))).toEqual({
      outcome: 'changed',
      changes: [{ kind: 'changed', what: 'tool tool_1999', details: ['changed in a part that is too long to show'] }],
    })
  })

  it('has different digests for sets that differ only in the kind of a definition', async () => {
    const tool = toolNamed('a')
    const asTool = definitionsWith({ tools: [tool] })
    const asPrompt = definitionsWith({ prompts: [tool] })
    expect(await definitionsDigest(asTool)).not.toBe(await definitionsDigest(asPrompt))
  })
})
