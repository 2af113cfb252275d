import { type Client, McpError } from 'tenon/client'
import { describe, expect, it } from 'vitest'
import { errorOf } from '../kit/error-of.ts'
import { handshakeRevisions } from '../kit/revisions.ts'
import { scripted, scriptedClient } from '../kit/scripted-server.ts'

const question = {
  resultType: 'input_required',
  inputRequests: { name: { method: 'elicitation/create', params: { message: 'Your name?', requestedSchema: {} } } },
  requestState: 'sealed',
}

const calls: Record<string, (client: Client) => Promise<unknown>> = {
  'tools/call': (client) => client.callTool('ask'),
  'prompts/get': (client) => client.getPrompt('ask'),
  'resources/read': (client) => client.readResource('note://ask'),
  'custom/ask': (client) => client.request('custom/ask'),
}

describe.each(handshakeRevisions)('an input_required result on %s', (revision) => {
  it.each(Object.keys(calls))('rejects %s, because the revision does not have that result type', async (method) => {
    const server = scripted(revision, { [method]: () => ({ result: question }) })
    let asked = 0
    const elicit = () => {
      asked++
      return { action: 'decline' as const }
    }
    const client = await scriptedClient(server, { revision, handlers: { elicit } })
    const error = await errorOf<McpError>(calls[method]!(client))
    expect(error).toBeInstanceOf(McpError)
    expect(error.code).toBe('invalid-response')
    expect(error.message).toBe(
      `The server answered ${method} with "input_required", which ${revision} does not have. It must send elicitation/create, sampling/createMessage or roots/list instead.`,
    )
    expect(asked).toBe(0)
    await client.close()
  })
})
