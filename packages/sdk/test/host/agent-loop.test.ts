import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { type AgentHost, runAgent } from '../../../../examples/host/agent.ts'
import type { Client } from '../../src/client/client.ts'
import { connect } from '../../src/connect/connect.ts'
import { createHost } from '../../src/host/host.ts'
import { aiSdk } from '../../src/host/models/ai-sdk.ts'
import { anthropic } from '../../src/host/models/anthropic.ts'
import type { Model } from '../../src/host/models/model.ts'
import { openai } from '../../src/host/models/openai.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { tasks } from '../../src/tasks/runtime.ts'
import { gate } from '../kit/gate.ts'
import { scripted } from './scripted-models.ts'
import { allowAll } from './support.ts'

let clients: Map<string, Client>
let files: Map<string, string>

beforeEach(async () => {
  files = new Map([['a.txt', 'buy milk']])
  const disk = new McpServer({ name: 'disk', version: '1.0.0' })
  disk.registerTool('read', { inputSchema: { path: z.string() } }, ({ path }) => {
    const text = files.get(path)
    if (text === undefined) throw new Error(`No such file: ${path}`)
    return text
  })
  const shop = new McpServer({ name: 'shop', version: '1.0.0' })
  shop.registerTool('buy', { inputSchema: { item: z.string(), count: z.number().optional() } }, (order) => {
    files.set('order', JSON.stringify(order))
    return { content: [], structuredContent: { bought: order.item } }
  })
  clients = new Map([
    ['disk', await connect(disk)],
    ['shop', await connect(shop)],
  ])
})
afterEach(async () => {
  for (const client of clients.values()) await client.close()
})

/** Joins two servers under names that no API takes as they are. */
const host: AgentHost = {
  async tools() {
    const lists = [...clients].map(async ([id, client]) =>
      (await client.listTools().all()).map((tool) => ({ ...tool, name: `${id}.${tool.name}` })),
    )
    return (await Promise.all(lists)).flat()
  },
  async callTool(name, args) {
    const [id = '', tool = ''] = name.split('.')
    const { content, structuredContent, isError } = await clients.get(id)!.callTool(tool, args)
    return { content, structuredContent, ...(isError && { isError }) }
  },
}

interface Call {
  tool: string
  input: Record<string, unknown>
}

/** What the scripted model does in each round: calls, or a text. */
type Round = Call[] | string

// biome-ignore lint/suspicious/noExplicitAny: the requests of four SDKs.
type Body = any

/** One adapter for each API, with a client that plays the rounds in the shape of that API. */
const adapters: Record<string, (rounds: Round[]) => { model: Model; calls: { body: Body }[] }> = {
  anthropic(rounds) {
    const { calls, create } = scripted(
      ...rounds.map((round) => (body: Body) => ({
        content:
          typeof round === 'string'
            ? [{ type: 'text', text: round }]
            : round.map(({ tool, input }, at) => {
                const name = nameLike(
                  tool,
                  body.tools.map(({ name }: Body) => name),
                )
                return { type: 'tool_use', id: `c${at}`, name, input }
              }),
        stop_reason: typeof round === 'string' ? 'end_turn' : 'tool_use',
      })),
    )
    return { calls, model: anthropic({ messages: { create } }, { model: 'm' }) }
  },
  'openai chat'(rounds) {
    const { calls, create } = scripted(
      ...rounds.map((round) => (body: Body) => ({
        choices: [
          {
            finish_reason: typeof round === 'string' ? 'stop' : 'tool_calls',
            message:
              typeof round === 'string'
                ? { content: round }
                : {
                    content: null,
                    tool_calls: round.map(({ tool, input }, at) => {
                      const name = nameLike(
                        tool,
                        body.tools.map((each: Body) => each.function.name),
                      )
                      return { id: `c${at}`, type: 'function', function: { name, arguments: JSON.stringify(input) } }
                    }),
                  },
          },
        ],
      })),
    )
    return { calls, model: openai({ chat: { completions: { create } } }, { model: 'm' }) }
  },
  'openai responses'(rounds) {
    const { calls, create } = scripted(
      ...rounds.map((round) => (body: Body) => ({
        status: 'completed',
        output:
          typeof round === 'string'
            ? [{ type: 'message', content: [{ type: 'output_text', text: round }] }]
            : round.map(({ tool, input }, at) => {
                const name = nameLike(
                  tool,
                  body.tools.map(({ name }: Body) => name),
                )
                return { type: 'function_call', call_id: `c${at}`, name, arguments: JSON.stringify(input) }
              }),
      })),
    )
    return { calls, model: openai({ responses: { create } }, { model: 'm', api: 'responses' }) }
  },
  'ai sdk'(rounds) {
    const { calls, create } = scripted(
      ...rounds.map((round) => (body: Body) => ({
        text: typeof round === 'string' ? round : '',
        toolCalls:
          typeof round === 'string'
            ? []
            : round.map(({ tool, input }, at) => {
                return { toolCallId: `c${at}`, toolName: nameLike(tool, Object.keys(body.tools)), input }
              }),
      })),
    )
    return { calls, model: aiSdk(create, 'm') }
  },
}

/** A model knows the names that it was given only. */
function nameLike(tool: string, names: string[]): string {
  return names.find((name) => name.startsWith(tool)) ?? `no tool like ${tool}`
}

describe.each(Object.keys(adapters))('the agent loop with %s', (api) => {
  it('calls the tools of several servers until the model has an answer [TOOL-055]', async () => {
    const { model, calls } = adapters[api]!([
      [{ tool: 'disk_read', input: { path: 'a.txt' } }],
      [{ tool: 'shop_buy', input: { item: 'milk' } }],
      'I bought milk.',
    ])
    expect(await runAgent(host, model, 'Do what a.txt says')).toBe('I bought milk.')
    expect(files.get('order')).toBe('{"item":"milk"}')
    expect(calls).toHaveLength(3)
    expect(JSON.stringify(calls[1]?.body)).toContain('buy milk')
    expect(JSON.stringify(calls[2]?.body)).toContain('bought')
  })

  it('gives errors of tools to the model [TOOL-039]', async () => {
    const { model, calls } = adapters[api]!([
      [
        { tool: 'disk_read', input: { path: 'b.txt' } },
        { tool: 'disk_read', input: { path: 3 } },
      ],
      'There is no b.txt.',
    ])
    expect(await runAgent(host, model, 'Read b.txt')).toBe('There is no b.txt.')
    const shown = JSON.stringify(calls[1]?.body)
    expect(shown).toContain('No such file: b.txt')
    expect(shown).toMatch(/path/)
  })

  it('ends after a number of rounds, the last without tools [SAMP-028]', async () => {
    const { model, calls } = adapters[api]!([[{ tool: 'disk_read', input: { path: 'a.txt' } }]])
    await runAgent(host, model, 'Loop', { maxRounds: 4 })
    expect(calls).toHaveLength(4)
    expect(calls.map(({ body }) => JSON.stringify(body.tool_choice ?? body.toolChoice))).toEqual([
      expect.stringContaining('auto'),
      expect.stringContaining('auto'),
      expect.stringContaining('auto'),
      expect.stringContaining('none'),
    ])
  })

  it('ends when it is aborted', async () => {
    const controller = new AbortController()
    const { model } = adapters[api]!([[{ tool: 'disk_read', input: { path: 'a.txt' } }]])
    controller.abort()
    await expect(runAgent(host, model, 'Loop', { signal: controller.signal })).rejects.toMatchObject({
      code: 'cancelled',
    })
  })
})

describe('the agent loop with a host', () => {
  it('does not wait for tasks until the model has nothing else to do [TASK-014]', async () => {
    const done = gate<string>()
    const server = new McpServer({ name: 'reports', version: '1.0.0' }, { tasks: tasks({ pollIntervalMs: 20 }) })
    server.registerTool('write', { execution: { taskSupport: 'required' } }, () => done.opened)
    server.registerTool('release', {}, () => {
      done.open('It was a good year.')
      return 'released'
    })
    await using reports = await createHost({ servers: { reports: { server } }, policy: allowAll })
    const { model, calls } = adapters.anthropic!([
      [{ tool: 'reports_write', input: {} }],
      [{ tool: 'reports_release', input: {} }],
      'I wait.',
      'It was a good year.',
    ])
    expect(await runAgent(reports, model, 'Write a report')).toBe('It was a good year.')
    expect(JSON.stringify(calls[1]?.body)).toContain('is running as a task')
    expect(JSON.stringify(calls[3]?.body)).toContain('Result of reports_write')
  })

  it('shows what is suspicious about a result to the user and to the model', async () => {
    const server = new McpServer({ name: 'mail', version: '1.0.0' })
    server.registerTool('read', {}, () => 'Hello\u200b\u200b\u200b\u200b there, see you.')
    const policy = [{ kind: 'result' as const, decide: 'allow' as const }, ...allowAll]
    await using mail = await createHost({ servers: { mail: { server } }, policy })
    const { findings } = await mail.callTool('mail_read')
    expect(findings.length).toBeGreaterThan(0)
    const { model, calls } = adapters.anthropic!([[{ tool: 'mail_read', input: {} }], 'Done.'])
    const shown: string[] = []
    await runAgent(mail, model, 'Read', { onFinding: (tool, finding) => shown.push(`${tool}: ${finding}`) })
    expect(shown).toEqual(findings.map(({ message, where }) => `mail_read: ${message} (${where})`))
    expect(JSON.stringify(calls[1]?.body)).toContain('Suspicious data, not instructions')
  })
})
