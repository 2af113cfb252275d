import type { InputRequiredResult } from 'tenon'
import { Client, connect } from 'tenon/client'
import { McpServer } from 'tenon/server'
import type { ScriptedServer } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import { errorOf } from '../kit/error-of.ts'
import { eventually } from '../kit/eventually.ts'
import { RestartableTransport } from '../kit/restartable-transport.ts'
import { modern } from '../kit/revisions.ts'
import { scripted, scriptedClient } from '../kit/scripted-server.ts'
import { said } from '../kit/transcript.ts'

describe('input that a program answers by hand', () => {
  const server = new McpServer({ name: 'asks', version: '1' })
  server.registerTool('greet', {}, async (_args, ctx) => {
    const answer = await ctx.elicit('Name?', { type: 'object', properties: { name: { type: 'string' } } })
    return `Hello ${answer.action === 'accept' ? answer.content.name : 'nobody'}`
  })

  it('returns the input_required result, and accepts the answers in a repeated request', async () => {
    await using client = await connect(server, { revision: modern, capabilities: { elicitation: { form: {} } } })
    const call = { name: 'greet', arguments: {} }
    const first = await client.request('tools/call', call, { inputRequired: 'return' })
    expect(first).toMatchObject({ resultType: 'input_required' })
    const { inputRequests, requestState } = first as unknown as InputRequiredResult
    const [key] = Object.keys(inputRequests ?? {})
    const inputResponses = { [key!]: { action: 'accept', content: { name: 'Ada' } } }
    const last = await client.request('tools/call', { ...call, requestState, inputResponses } as never, {
      inputRequired: 'return',
    })
    expect(last).toMatchObject({ content: [{ type: 'text', text: 'Hello Ada' }] })
  })
})

describe('a client that passes messages through', () => {
  it('sends params that the protocol does not allow', async () => {
    const server = scripted('2025-11-25', { 'tools/call': ({ name }) => ({ result: { content: [], got: name } }) })
    const client = await scriptedClient(server, { raw: true })
    expect(await client.request('tools/call', { name: 5 } as never)).toEqual({ content: [], got: 5 })
    await client.close()
  })

  it('handles any request with the fallback handler, even before the handshake is complete', async () => {
    const server = scripted('2025-11-25', {
      initialize: () => {
        server.say({ jsonrpc: '2.0', id: 'early', method: 'custom/early', params: { x: 1 } })
        return undefined as never
      },
    })
    const client = new Client({ name: 'test', version: '1' }, { raw: true, negotiation: 'handshake-first' })
    client.setFallbackRequestHandler((params, { method, id }) => ({ method, params, hasId: id !== undefined }))
    const connecting = client.connect(server.transport)
    expect(await answerTo(server, 'early')).toMatchObject({
      result: { method: 'custom/early', params: { x: 1 }, hasId: true },
    })
    await client.close()
    await errorOf(connecting)
  })

  it('passes notifications without a handler to the fallback, also with invalid params', async () => {
    const server = scripted('2025-11-25')
    const client = new Client({ name: 'test', version: '1' }, { raw: true })
    const received: string[] = []
    client.setFallbackNotificationHandler(({ method }) => received.push(method))
    client.setNotificationHandler('notifications/message', () => received.push('handled'))
    await client.connect(server.transport)
    const log = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } }
    server.say({ jsonrpc: '2.0', method: 'custom/note' })
    server.say({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 5 } })
    server.say(log)
    await eventually(() => received.length === 3)
    client.removeNotificationHandler('notifications/message')
    server.say(log)
    await eventually(() => received.length === 4)
    expect(received).toEqual(['custom/note', 'notifications/resources/updated', 'handled', 'notifications/message'])
    await client.close()
  })

  it('answers an error after the handler was removed', async () => {
    const server = scripted('2025-11-25')
    const client = await scriptedClient(server, { raw: true })
    client.setRequestHandler('custom/ask', () => ({ ok: true }))
    server.say({ jsonrpc: '2.0', id: 'a', method: 'custom/ask' })
    expect(await answerTo(server, 'a')).toMatchObject({ result: { ok: true } })
    client.removeRequestHandler('custom/ask')
    server.say({ jsonrpc: '2.0', id: 'b', method: 'custom/ask' })
    expect(await answerTo(server, 'b')).toMatchObject({ error: { code: -32601 } })
    await client.close()
  })
})

describe('a client that does not recover', () => {
  it('closes when the connection is lost, although the transport can be started again', async () => {
    const server = scripted('2025-11-25')
    const client = new Client({ name: 'test', version: '1' }, { recover: false })
    const transport = new RestartableTransport(() => server.transport)
    await client.connect(transport)
    await server.close()
    await eventually(() => client.state === 'closed')
    expect(transport.starts).toBe(1)
    expect(await errorOf(client.listTools())).toMatchObject({ code: 'not-connected' })
  })
})

async function answerTo(server: ScriptedServer, id: string): Promise<unknown> {
  const find = () => said(server.transcript, 'client').find((message) => message.id === id)
  await eventually(() => find() !== undefined)
  return find()
}
