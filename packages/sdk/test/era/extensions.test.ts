import { Client } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { InMemoryTransport, record, ScriptedClient } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import { errorOf } from '../kit/error-of.ts'
import { allRevisions, modern } from '../kit/revisions.ts'
import { scripted, scriptedClient } from '../kit/scripted-server.ts'
import type { Said } from '../kit/transcript.ts'
import { testServer } from './support.ts'

describe('extensions', () => {
  it.each(allRevisions)('disables extensions by default (%s) [VER-036]', async (revision) => {
    const { server } = testServer()
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    await server.connect(theirs)
    const transcript = record(ours)
    const client = new Client({ name: 'c', version: '1' }, { revision })
    await client.connect(ours)
    await client.listTools()
    expect(client.server.capabilities).toHaveProperty('tools')
    expect(client.server.capabilities).not.toHaveProperty('extensions')
    expect(transcript.toString()).not.toContain('extensions')
    await client.close()
  })

  it('declares enabled extensions on both sides and exposes their settings to the server [VER-036, VER-037]', async () => {
    const extensions = { 'com.example/colours': { depth: 8 } }
    const server = new McpServer({ name: 's', version: '1' }, { capabilities: { extensions } })
    server.registerTool('paint', {}, (_, { caller }) => {
      const settings = caller.capabilities.extensions?.['com.example/colours'] as { depth: number } | undefined
      return settings ? `in ${settings.depth} bits` : 'in black and white'
    })
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    await server.connect(theirs)
    const client = new Client({ name: 'c', version: '1' }, { revision: modern, capabilities: { extensions } })
    await client.connect(ours)
    expect(client.server.capabilities.extensions).toEqual(extensions)
    expect((await client.callTool('paint')).text).toBe('in 8 bits')
    await client.close()
    const [plain, end] = InMemoryTransport.createLinkedPair()
    await server.connect(end)
    const without = new Client({ name: 'c', version: '1' }, { revision: modern })
    await without.connect(plain)
    expect((await without.callTool('paint')).text).toBe('in black and white')
    await without.close()
  })

  it.each(['colours', '/colours', 'com..example/colours', '-com/colours', 'com.example/-'])(
    'refuses an invalid extension name on a server: %s [VER-033]',
    (id) => {
      const capabilities = { extensions: { [id]: {} } }
      expect(() => new McpServer({ name: 's', version: '1' }, { capabilities })).toThrow(TypeError)
    },
  )

  it('refuses an invalid extension name on a client [VER-033]', () => {
    for (const id of ['colours', '/colours', 'com..example/colours', '-com/colours', 'com.example/-']) {
      const capabilities = { extensions: { [id]: {} } }
      expect(() => new Client({ name: 'c', version: '1' }, { capabilities }), id).toThrow(TypeError)
    }
  })

  it('refuses an extension result that the client did not declare [VER-034]', async () => {
    const server = scripted(modern, {
      'tools/call': () => ({ result: { resultType: 'task', taskId: 'x', status: 'working' } }),
      'prompts/get': () => ({ result: { resultType: 'com.example/odd', messages: [] } }),
    })
    const client = await scriptedClient(server)
    const undeclared = {
      code: 'invalid-response',
      message: expect.stringContaining('which this client did not declare'),
    }
    expect(await errorOf(client.callTool('slow'))).toMatchObject(undeclared)
    expect(await errorOf(client.getPrompt('odd'))).toMatchObject(undeclared)
    await client.close()
  })

  it('refuses an extension result for a method that the extension does not extend [VER-034]', async () => {
    const server = scripted(modern, {
      'prompts/get': () => ({ result: { resultType: 'task', taskId: 'x', status: 'working' } }),
    })
    const extensions = { 'io.modelcontextprotocol/tasks': {} }
    const client = await scriptedClient(server, { capabilities: { extensions } })
    expect(await errorOf(client.getPrompt('slow'))).toMatchObject({
      code: 'invalid-response',
      message: expect.stringContaining('which its extension does not allow for the method'),
    })
    await client.close()
  })

  it('answers with an unknown method error where the server lacks the extension [VER-034]', async () => {
    const extensions = { 'io.modelcontextprotocol/tasks': {}, 'com.example/colours': {} }
    await using caller = await ScriptedClient.connect(testServer().server, { capabilities: { extensions } })
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel', 'com.example/colours/mix']) {
      const answer = (await caller.request(method, { taskId: 'x', inputResponses: {} })) as Said
      expect(answer.error?.code, method).toBe(-32601)
    }
    const answer = (await caller.request('tools/call', { name: 'echo', arguments: { text: 'hi' } })) as Said
    expect(answer.result).toMatchObject({ resultType: 'complete', content: [{ text: 'hi' }] })
  })
})
