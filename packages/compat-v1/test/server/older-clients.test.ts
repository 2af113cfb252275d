import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { InMemoryTaskMessageQueue, InMemoryTaskStore } from '../../src/experimental/tasks/stores/in-memory.ts'
import { InMemoryTransport } from '../../src/inMemory.ts'
import { McpServer, ResourceTemplate } from '../../src/server/mcp.ts'
import type { JSONRPCMessage } from '../../src/types.ts'

const icons = [{ src: 'https://shop.example/icon.png', sizes: ['48x48'] }]
const annotations = { audience: ['user' as const], lastModified: '2025-01-01T00:00:00Z' }
const audio = { type: 'audio' as const, data: 'AAAA', mimeType: 'audio/wav' }
const link = { type: 'resource_link' as const, uri: 'shop://one', name: 'one', title: 'One', annotations }

/** The official SDK 1.x has no rules per revision: every client gets what the program returned. */
describe.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])('a client of %s', (revision) => {
  it('is told everything about the server', async () => {
    const { result } = await connectRaw(revision)
    expect(result).toEqual({
      protocolVersion: revision,
      serverInfo: { name: 'shop', version: '1.0.0', title: 'Shop', icons, websiteUrl: 'https://shop.example' },
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true },
        completions: {},
        tasks: { list: {} },
      },
    })
  })

  it('gets lists with titles, icons, annotations, output schemas and execution', async () => {
    const { ask } = await connectRaw(revision)
    expect(await ask('tools/list')).toMatchObject({
      tools: [
        {
          name: 'price',
          title: 'Price',
          annotations: { readOnlyHint: true },
          execution: { taskSupport: 'forbidden' },
          outputSchema: { type: 'object', properties: { price: { type: 'number' } } },
        },
      ],
    })
    expect(await ask('prompts/list')).toMatchObject({ prompts: [{ name: 'greet', title: 'Greet' }] })
    const described = { title: 'Note', icons, annotations }
    expect(await ask('resources/list')).toMatchObject({ resources: [described] })
    expect(await ask('resources/templates/list')).toMatchObject({ resourceTemplates: [described] })
  })

  it('gets structured content, audio and links', async () => {
    const { ask } = await connectRaw(revision)
    expect(await ask('tools/call', { name: 'price', arguments: {} })).toEqual({
      content: [audio, link],
      structuredContent: { price: 3 },
    })
    expect(await ask('prompts/get', { name: 'greet', arguments: { name: 'Ada' } })).toEqual({
      messages: [
        { role: 'user', content: audio },
        { role: 'user', content: link },
      ],
    })
  })

  it('can list tasks if the program stores them', async () => {
    const { ask } = await connectRaw(revision)
    expect(await ask('tasks/list')).toMatchObject({ tasks: [] })
  })
})

function createShop(): McpServer {
  const server = new McpServer(
    { name: 'shop', version: '1.0.0', title: 'Shop', icons, websiteUrl: 'https://shop.example' },
    {
      capabilities: { tasks: { list: {} } },
      taskStore: new InMemoryTaskStore(),
      taskMessageQueue: new InMemoryTaskMessageQueue(),
    },
  )
  server.registerTool(
    'price',
    { title: 'Price', outputSchema: { price: z.number() }, annotations: { readOnlyHint: true } },
    () => ({ content: [audio, link], structuredContent: { price: 3 } }),
  )
  const described = { title: 'Note', icons, annotations }
  server.registerResource('note', 'shop://note', described, () => ({ contents: [] }))
  const template = new ResourceTemplate('shop://{id}', { list: undefined, complete: { id: () => ['1'] } })
  server.registerResource('item', template, described, () => ({ contents: [] }))
  server.registerPrompt('greet', { title: 'Greet', argsSchema: { name: z.string() } }, () => ({
    messages: [
      { role: 'user', content: audio },
      { role: 'user', content: link },
    ],
  }))
  return server
}

/** Opens a session with bare messages, so that nothing but the server decides what arrives. */
async function connectRaw(protocolVersion: string) {
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  const waiting = new Map<unknown, (result: unknown) => void>()
  ours.onmessage = (message) => {
    const { id, result, error } = message as { id?: unknown; result?: unknown; error?: unknown }
    waiting.get(id)?.(result ?? error)
  }
  await createShop().connect(theirs)
  let lastId = 0
  const ask = (method: string, params?: object) =>
    new Promise<unknown>((resolve) => {
      const id = ++lastId
      waiting.set(id, resolve)
      void ours.send({ jsonrpc: '2.0', id, method, ...(params && { params }) } as JSONRPCMessage)
    })
  const clientInfo = { name: 'raw', version: '1.0.0' }
  const result = await ask('initialize', { protocolVersion, capabilities: {}, clientInfo })
  await ours.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
  return { result, ask }
}
