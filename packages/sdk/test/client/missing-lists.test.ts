import type { Prompt, Resource, ResourceTemplateInfo, Tool } from 'tenon'
import type { Client } from 'tenon/client'
import { describe, expect, it } from 'vitest'
import { createHost } from '../../src/host/host.ts'
import { Server } from '../../src/server/server.ts'
import { allowAll } from '../host/support.ts'
import { everyRevision } from '../kit/revisions.ts'
import { scripted, scriptedClient, shaped } from '../kit/scripted-server.ts'

const notFound = () => ({ error: { code: -32601, message: 'Method not found' } })

const lists: [string, (client: Client) => AsyncIterable<Tool | Prompt | Resource | ResourceTemplateInfo>][] = [
  ['tools/list', (client) => client.listTools()],
  ['prompts/list', (client) => client.listPrompts()],
  ['resources/list', (client) => client.listResources()],
  ['resources/templates/list', (client) => client.listResourceTemplates()],
]

describe('a server that has a capability but not one of its lists', () => {
  for (const [method, list] of lists) {
    everyRevision(`has an empty list for a client that calls ${method} [SDK-019]`, async (revision) => {
      const server = scripted(revision, { [method]: notFound })
      await using client = await scriptedClient(server)
      const items = []
      for await (const item of list(client)) items.push(item)
      expect(items).toEqual([])
    })
  }

  it('does not hide that a later page fails [SDK-019]', async () => {
    const revision = '2025-11-25'
    const server = scripted(revision, {
      'tools/list': ({ cursor }) => (cursor ? notFound() : shaped(revision, { tools: [], nextCursor: 'next' })),
    })
    await using client = await scriptedClient(server)
    await expect(client.listTools().all()).rejects.toMatchObject({ rpcCode: -32601 })
  })

  it('stays usable in a host [SDK-019]', async () => {
    const server = new Server(
      { name: 'bare', version: '1.0.0' },
      { capabilities: { tools: {}, resources: {}, prompts: {} } },
    )
    server.setRequestHandler('tools/list', () => ({ tools: [{ name: 'pods', inputSchema: { type: 'object' } }] }))
    server.setRequestHandler('resources/list', () => ({ resources: [{ uri: 'k8s://pods', name: 'pods' }] }))
    await using host = await createHost({ servers: { kube: { server } }, policy: allowAll })
    expect((await host.tools()).map(({ name }) => name)).toEqual(['kube_pods'])
    expect((await host.resources()).map(({ uri }) => uri)).toEqual(['k8s://pods'])
    expect(await host.prompts()).toEqual([])
  })
})
