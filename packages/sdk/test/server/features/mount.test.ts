import { revisionIds } from 'tenon'
import { completable, McpServer, ResourceTemplate } from 'tenon/server'
import { describe, expect, it, vi } from 'vitest'
import * as z from 'zod'
import { everyWire } from '../../kit/every-wire.ts'
import { ask, listenToAll, script } from './support.ts'

const info = { name: 'mount', version: '1' }

function createShop() {
  const shop = new McpServer({ name: 'shop', version: '1' }, { listChangedDelayMs: 1 })
  const add = shop.registerTool('add', { inputSchema: { item: z.string() } }, ({ item }, ctx) => {
    ctx.progress(1)
    return `added ${item}`
  })
  shop.registerPrompt(
    'ask',
    { argsSchema: { what: completable(z.string(), (typed) => [`${typed}!`]) } },
    ({ what }) => `Ask about ${what}`,
  )
  shop.registerResource('stock', 'shop://stock', { mimeType: 'text/plain' }, () => '3 left')
  shop.registerResource(
    'item',
    new ResourceTemplate('shop://item/{id}', {
      list: () => [{ uri: 'shop://item/1', name: 'one' }],
      complete: { id: (typed) => [`${typed}0`] },
    }),
    {},
    (_uri, { id }) => `item ${id}`,
  )
  return { shop, add }
}

function createMall() {
  const { shop, add } = createShop()
  const mall = new McpServer(info, { listChangedDelayMs: 1 })
  mall.registerTool('own', {}, () => 'own')
  mall.mount(shop, { prefix: 'shop' })
  return { mall, shop, add }
}

describe('a mounted server', () => {
  everyWire('lists its tools and prompts under a prefix, and its resources unchanged', async (wire) => {
    const { mall } = createMall()
    await using pair = await wire.connect(mall)
    const { client } = pair
    expect(Object.keys(client.getServerCapabilities()!)).toEqual(
      expect.arrayContaining(['tools', 'prompts', 'resources']),
    )
    expect((await client.listTools().all()).map(({ name }) => name)).toEqual(['own', 'shop_add'])
    expect((await client.listPrompts().all()).map(({ name }) => name)).toEqual(['shop_ask'])
    expect((await client.listResources().all()).map(({ uri }) => uri)).toEqual(['shop://stock', 'shop://item/1'])
    expect((await client.listResourceTemplates().all()).map(({ uriTemplate }) => uriTemplate)).toEqual([
      'shop://item/{id}',
    ])
    const progress: number[] = []
    const added = await client.callTool(
      'shop_add',
      { item: 'tea' },
      { onProgress: (event) => progress.push(event.progress) },
    )
    expect([added.text, progress]).toEqual(['added tea', [1]])
    expect((await client.callTool('own')).text).toBe('own')
    expect((await client.getPrompt('shop_ask', { what: 'tea' })).messages[0]?.content).toMatchObject({
      text: 'Ask about tea',
    })
    expect((await client.readResource('shop://stock')).contents[0]).toMatchObject({
      text: '3 left',
      mimeType: 'text/plain',
    })
    expect((await client.readResource('shop://item/7')).contents[0]).toMatchObject({ text: 'item 7' })
  })

  everyWire('completes its prompts and templates', async (wire) => {
    await using pair = await wire.connect(createMall().mall)
    const { client } = pair
    const prompt = await client.complete({
      ref: { type: 'ref/prompt', name: 'shop_ask' },
      argument: { name: 'what', value: 'a' },
    })
    expect(prompt.values).toEqual(['a!'])
    const template = await client.complete({
      ref: { type: 'ref/resource', uri: 'shop://item/{id}' },
      argument: { name: 'id', value: '1' },
    })
    expect(template.values).toEqual(['10'])
  })

  everyWire('applies its own checks: unknown names, invalid arguments, disabled tools', async (wire) => {
    const { mall, add } = createMall()
    await using pair = await wire.connect(mall)
    const { client } = pair
    await expect(client.callTool('shop_other')).rejects.toMatchObject({ rpcCode: -32602 })
    await expect(client.callTool('add', { item: 'x' })).rejects.toMatchObject({ rpcCode: -32602 })
    await expect(client.getPrompt('ask')).rejects.toMatchObject({ rpcCode: -32602 })
    const bad = await client
      .callTool('shop_add', { item: 7 })
      .catch((error) => ({ isError: true, text: error.message }))
    expect(bad.isError).toBe(true)
    expect(bad.text).toContain('item')
    add.disable()
    await expect(client.callTool('shop_add', { item: 'x' })).rejects.toMatchObject({ rpcCode: -32602 })
    await expect(client.readResource('shop://nothing')).rejects.toMatchObject({
      code: 'peer',
      data: { uri: 'shop://nothing' },
    })
  })

  everyWire('sends list_changed for its changes, which take effect at once [SDK-010]', async (wire) => {
    const { mall, shop, add } = createMall()
    await using pair = await wire.connect(mall, { cache: false })
    const { client } = pair
    await listenToAll(client)
    await client.listTools()
    const next = (event: 'toolsChanged' | 'promptsChanged' | 'resourcesChanged') =>
      new Promise<void>((resolve) => client.on(event, () => resolve()))
    const changed = Promise.all([next('toolsChanged'), next('promptsChanged'), next('resourcesChanged')])
    shop.registerTool('pay', {}, () => 'paid')
    shop.registerPrompt('more', {}, () => 'x')
    shop.registerResource('more', 'shop://more', {}, () => 'x')
    await changed
    expect((await client.listTools().all()).map(({ name }) => name)).toEqual(['own', 'shop_add', 'shop_pay'])
    expect((await client.callTool('shop_pay')).text).toBe('paid')
    add.remove()
    expect((await client.listTools().all()).map(({ name }) => name)).toEqual(['own', 'shop_pay'])
  })

  everyWire('sends update notifications for its resources', async (wire) => {
    const { mall, shop } = createMall()
    await using pair = await wire.connect(mall)
    await pair.client.subscribeResource('shop://stock')
    const updated = new Promise<string>((resolve) => pair.client.on('resourceUpdated', ({ uri }) => resolve(uri)))
    shop.sendResourceUpdated('shop://stock')
    expect(await updated).toBe('shop://stock')
  })

  it.each(revisionIds)('runs its own middleware inside that of the outer server on %s', async (revision) => {
    const { mall, shop } = createMall()
    const order: string[] = []
    mall.use(async ({ method, params }, next) => {
      order.push(`mall ${method} ${(params as { name?: string }).name}`)
      return next()
    })
    shop.use(async ({ method, params }, next) => {
      order.push(`shop ${method} ${(params as { name?: string }).name}`)
      return next()
    })
    await using client = await script(mall, revision)
    await ask(client, 'tools/call', { name: 'shop_add', arguments: { item: 'x' } })
    await ask(client, 'prompts/get', { name: 'shop_ask', arguments: { what: 'x' } })
    await ask(client, 'tools/call', { name: 'own' })
    expect(order).toEqual([
      'mall tools/call shop_add',
      'shop tools/call add',
      'mall prompts/get shop_ask',
      'shop prompts/get ask',
      'mall tools/call own',
    ])
  })

  everyWire('can be mounted in a server that is itself mounted', async (wire) => {
    const { mall, shop } = createMall()
    const city = new McpServer(info, { listChangedDelayMs: 1 })
    city.mount(mall, { prefix: 'mall' })
    await using pair = await wire.connect(city, { cache: false })
    const { client } = pair
    await listenToAll(client)
    expect((await client.callTool('mall_shop_add', { item: 'x' })).text).toBe('added x')
    expect((await client.readResource('shop://item/7')).contents).toHaveLength(1)
    const ref = { type: 'ref/prompt' as const, name: 'mall_shop_ask' }
    expect((await client.complete({ ref, argument: { name: 'what', value: 'a' } })).values).toEqual(['a!'])
    const changed = new Promise<void>((resolve) => client.on('toolsChanged', () => resolve()))
    shop.registerTool('deep', {}, () => 'deep')
    await changed
    expect((await client.listTools().all()).map(({ name }) => name)).toContain('mall_shop_deep')
  })

  it('still serves its own clients', async () => {
    const { shop } = createMall()
    await using client = await script(shop, '2026-07-28')
    expect((await ask(client, 'tools/call', { name: 'add', arguments: { item: 'x' } })).result.content[0].text).toBe(
      'added x',
    )
  })

  it('reports its errors to its own onError', async () => {
    const onError = vi.fn()
    const child = new McpServer(info, { maskErrors: true, onError })
    child.registerTool('fail', {}, () => {
      throw new Error('secret')
    })
    const server = new McpServer(info, { onError: () => expect.unreachable() })
    server.mount(child, { prefix: 'child' })
    await using client = await script(server, '2026-07-28')
    expect(JSON.stringify(await ask(client, 'tools/call', { name: 'child_fail' }))).not.toContain('secret')
    expect(onError).toHaveBeenCalledTimes(1)
  })

  it('is resolved by the prefix it was listed under, even when one prefix starts with another', async () => {
    const server = new McpServer(info)
    for (const prefix of ['git', 'git_hub']) {
      const child = new McpServer(info)
      child.registerTool('search', {}, () => `by ${prefix}`)
      child.registerPrompt('search', {}, () => `by ${prefix}`)
      server.mount(child, { prefix })
    }
    await using client = await script(server, '2026-07-28')
    const names = (await ask(client, 'tools/list')).result.tools.map(({ name }: { name: string }) => name)
    expect(names).toEqual(['git_search', 'git_hub_search'])
    const answers = await Promise.all(names.map((name: string) => ask(client, 'tools/call', { name })))
    expect(answers.map(({ result, error }) => result?.content[0].text ?? error?.message)).toEqual([
      'by git',
      'by git_hub',
    ])
    const prompt = await ask(client, 'prompts/get', { name: 'git_hub_search' })
    expect(prompt.result?.messages[0].content.text ?? prompt.error?.message).toBe('by git_hub')
  })

  it('lists each resource once, even when mounted twice or when a uri is shared', async () => {
    const { shop } = createShop()
    const server = new McpServer(info)
    server.registerResource('own', 'shop://stock', {}, () => 'own')
    server.mount(shop, { prefix: 'a' }).mount(shop, { prefix: 'b' })
    await using client = await script(server, '2026-07-28')
    const uris = (await ask(client, 'resources/list')).result.resources.map(({ uri }: { uri: string }) => uri)
    expect(uris).toEqual([...new Set(uris)])
    const templates = (await ask(client, 'resources/templates/list')).result.resourceTemplates
    expect(templates).toHaveLength(1)
    expect((await ask(client, 'resources/read', { uri: 'shop://stock' })).result.contents[0].text).toBe('own')
  })

  it('cannot be the server itself, nor a server that it is mounted in', () => {
    const one = new McpServer(info)
    const two = new McpServer(info)
    expect(() => one.mount(one, { prefix: 'x' })).toThrow(TypeError)
    one.mount(two, { prefix: 'two' })
    expect(() => two.mount(one, { prefix: 'one' })).toThrow(TypeError)
  })
})
