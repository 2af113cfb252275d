import type { CreateMessageParams } from 'tenon'
import { createHost, type Model } from 'tenon/host'
import { McpServer } from 'tenon/server'
import { tasks } from 'tenon/tasks'
import { describe, expect, it } from 'vitest'
import { Agent } from '../src/chat/agent.ts'

/** A model that calls each of these tools in a round of its own, then answers, and then only answers. */
function scriptedModel(...tools: string[]) {
  const requests: CreateMessageParams['messages'][] = []
  const model: Model = {
    choices: [{ name: 'm' }],
    async generate({ params }) {
      requests.push(structuredClone(params.messages))
      const name = tools.shift()
      if (name === undefined) return { role: 'assistant', model: 'm', content: { type: 'text', text: 'Fine.' } }
      const use = { type: 'tool_use' as const, id: `c${requests.length}`, name, input: {} }
      return { role: 'assistant', model: 'm', content: [use], stopReason: 'toolUse' }
    },
  }
  return { model, requests, lastText: () => JSON.stringify(requests.at(-1)) }
}

function reportServer() {
  let finish: (text: string) => void = () => {}
  const written = new Promise<string>((resolve) => {
    finish = resolve
  })
  const server = new McpServer(
    { name: 'reports', version: '1.0.0' },
    { tasks: tasks({ policy: 'always', pollIntervalMs: 10 }) },
  )
  const execution = { taskSupport: 'optional' as const }
  server.registerTool('write', { execution, immediateResponse: 'Being written.' }, () => written)
  server.registerTool('wait', {}, async () => 'waited')
  return { server, finish }
}

describe('the agent of tenon chat', () => {
  it('shows the result of a task to the user at once, and to the model with its next message [TASK-014]', async () => {
    const { server, finish } = reportServer()
    await using host = await createHost({
      servers: { reports: { server } },
      policy: [{ kind: ['connect', 'definitions'], decide: 'allow' }, { decide: 'allow' }],
    })
    const { model, requests, lastText } = scriptedModel('reports_write')
    let ended: (text: string) => void = () => {}
    const shown = new Promise<string>((resolve) => {
      ended = resolve
    })
    const texts: string[] = []
    const agent = new Agent({
      host,
      model,
      background: true,
      onText: (text) => texts.push(text),
      onCall: () => {},
      onResult: (_name, result) => texts.push(result.text),
      onTaskEnd: (name, end) => ended('result' in end ? `${name}: ${end.result.text}` : end.error.message),
    })
    const { signal } = new AbortController()
    await agent.ask('Write a report', signal)
    // The model was not kept waiting.
    expect(texts).toEqual([
      'reports_write is running as a task. Continue without its result, which follows later.',
      'Fine.',
    ])
    finish('It was a good year.')
    expect(await shown).toBe('reports_write: It was a good year.')
    await agent.ask('And now?', signal)
    expect(lastText()).toContain('It was a good year.')
    expect(lastText()).toContain('not instructions')
    expect(requests.at(-1)?.at(-1)).toMatchObject({ role: 'user', content: [{}, { type: 'text', text: 'And now?' }] })
    await agent.ask('Again?', signal)
    expect(JSON.stringify(requests.at(-1)).split('It was a good year.')).toHaveLength(2)
  })

  it('gives a late result to the model again if its request failed', async () => {
    const { server, finish } = reportServer()
    await using host = await createHost({
      servers: { reports: { server } },
      policy: [{ kind: ['connect', 'definitions'], decide: 'allow' }, { decide: 'allow' }],
    })
    const { model, lastText } = scriptedModel('reports_write')
    let isDown = false
    const generate: Model['generate'] = async (request) => {
      if (isDown) throw new Error('overloaded')
      return model.generate(request)
    }
    let ended = () => {}
    const end = new Promise<void>((resolve) => {
      ended = resolve
    })
    const agent = new Agent({
      host,
      model: { ...model, generate },
      background: true,
      onText: () => {},
      onCall: () => {},
      onResult: () => {},
      onTaskEnd: () => ended(),
    })
    const { signal } = new AbortController()
    await agent.ask('Write a report', signal)
    finish('It was a good year.')
    await end
    isDown = true
    await expect(agent.ask('And now?', signal)).rejects.toThrow('overloaded')
    isDown = false
    await agent.ask('And now?', signal)
    expect(lastText()).toContain('It was a good year.')
  })
})
