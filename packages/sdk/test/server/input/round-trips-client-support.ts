import type { ClientHandlers, ClientOptions } from 'tenon/client'
import type { ScriptedServer } from 'tenon/testing'
import { scripted, scriptedClient } from '../../kit/scripted-server.ts'
import { said } from '../../kit/transcript.ts'

export const modern = '2026-07-28'
export type Body = Record<string, unknown>
export type Script = (params: Body, round: number) => Body

export const form = (message = 'Name?') => ({
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message,
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  },
})
export const page = {
  method: 'elicitation/create',
  params: { mode: 'url', message: 'Go there', url: 'https://example.com/a' },
}
export const model = {
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }], maxTokens: 10 },
}
export const roots = { method: 'roots/list' }

export const inputRequired = (more: Body) => ({ resultType: 'input_required', ...more })
export const done = { resultType: 'complete', content: [{ type: 'text', text: 'done' }] }
export const accepted = (content: Record<string, string> = { name: 'Ada' }) => ({ action: 'accept' as const, content })
export const handlers: ClientHandlers = {
  elicit: ({ message }) => accepted({ name: message }),
  elicitUrl: () => ({ action: 'accept' }),
  sample: () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'Hello' } }),
  roots: [{ uri: 'file:///home/me' }],
}

/** Creates a server that answers requests with `script`, which gets the number of the call. */
export function serverOf(script: Script, method = 'tools/call'): ScriptedServer {
  let round = 0
  return scripted(modern, { [method]: (params) => ({ result: script(params, ++round) }) })
}

/** Calls the tool `ask` and returns the outcome together with the calls on the wire. */
export async function play(script: Script, options: ClientOptions = {}) {
  const server = serverOf(script)
  await using client = await scriptedClient(server, { revision: modern, handlers, ...options })
  const outcome = await client.callTool('ask', { a: 1 }).then(
    (result) => result.text,
    (error: unknown) => error,
  )
  return { outcome, calls: said(server.transcript, 'client', 'tools/call') }
}
