import { connect, includeResources } from 'tenon/client'
import { McpServer, ProtocolError } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { everyWire } from '../kit/every-wire.ts'

const info = { name: 'library', version: '1' }

function library(pageSize = 1000): McpServer {
  const server = new McpServer(info, { pageSize })
  const add = (name: string, annotations: object, text: string, more: object = {}) =>
    server.registerResource(name, `docs://${name}`, { annotations, ...more }, () => text)
  add('plain', {}, 'plain text')
  add('old', { priority: 0.9, lastModified: '2024-01-01T00:00:00Z' }, 'old text')
  add('new', { priority: 0.9, lastModified: '2026-01-01T00:00:00Z' }, 'new text')
  add('for-people', { priority: 1, audience: ['user'] }, 'for people')
  add('optional', { priority: 0.1, audience: ['assistant', 'user'] }, 'optional text')
  return server
}

const texts = ({ content }: Awaited<ReturnType<typeof includeResources>>) =>
  content.map(({ resource }) => ('text' in resource ? resource.text : resource.blob))

describe('includeResources', () => {
  everyWire('reads the resources for the model, the most important and newest first [RES-038]', async (wire) => {
    await using pair = await wire.connect(library(2))
    const included = await includeResources(pair.client)
    // `lastModified` exists since 2025-06-18.
    const newest = wire.revision.id < '2025-06-18' ? ['old', 'new'] : ['new', 'old']
    expect(texts(included)).toEqual([...newest.map((name) => `${name} text`), 'plain text', 'optional text'])
    expect(included.content[0]).toMatchObject({ type: 'resource', resource: { uri: `docs://${newest[0]}` } })
    expect(included.content[0]!.annotations).toMatchObject({ priority: 0.9 })
    expect(included.skipped).toEqual([])
  })

  it('follows the rule: audience, priority and filter [RES-038]', async () => {
    await using client = await connect(library())
    expect(texts(await includeResources(client, { audience: 'user', minPriority: 0.95 }))).toEqual(['for people'])
    expect(texts(await includeResources(client, { minPriority: 0.5 }))).toEqual(['new text', 'old text', 'plain text'])
    expect(texts(await includeResources(client, { filter: ({ uri }) => uri.endsWith('old') }))).toEqual(['old text'])
  })

  it('keeps to the budget, and says what it left out', async () => {
    const server = library()
    server.registerResource('huge', 'docs://huge', { size: 1_000_000, annotations: { priority: 1 } }, () => {
      throw new Error('Read although its size is known')
    })
    await using client = await connect(server)
    const included = await includeResources(client, { maxChars: 16 })
    expect(texts(included)).toEqual(['new text', 'old text'])
    expect(included.skipped.map(({ resource, reason }) => [resource.name, reason])).toEqual([
      ['huge', 'too-large'],
      ['plain', 'too-large'],
      ['optional', 'too-large'],
    ])
    const few = await includeResources(client, { maxResources: 1, minPriority: 0.9 })
    expect(few.skipped.map(({ resource, reason }) => [resource.name, reason])).toEqual([
      ['huge', 'too-large'],
      ['old', 'too-many'],
    ])
  })

  it('includes the others if one cannot be read', async () => {
    const server = library()
    server.registerResource('broken', 'docs://broken', { annotations: { priority: 1 } }, () => {
      throw new ProtocolError(-32603, 'The disk is gone')
    })
    await using client = await connect(server)
    const included = await includeResources(client, { minPriority: 0.9 })
    expect(texts(included)).toEqual(['new text', 'old text'])
    expect(included.skipped).toMatchObject([{ reason: 'failed', error: { message: 'The disk is gone' } }])
  })

  it('ignores annotations that are not what the specification says', async () => {
    const server = new McpServer(info)
    server.server.setRequestHandler('resources/list', () => ({
      resources: [
        { uri: 'a://b', name: 'b', annotations: { audience: 7, priority: 'high', lastModified: {} } as never },
      ],
    }))
    server.registerResource('b', 'a://b', {}, () => 'text of b')
    await using client = await connect(server)
    expect(texts(await includeResources(client))).toEqual(['text of b'])
  })

  it('ends when the caller gives up', async () => {
    await using client = await connect(library())
    await expect(includeResources(client, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'cancelled' })
  })
})
