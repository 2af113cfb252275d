import { describe, expect, it } from 'vitest'
import type { SamplingAction, SamplingResultAction } from '../../src/host/action.ts'
import { memoryAudit } from '../../src/host/audit/memory.ts'
import { createHost } from '../../src/host/host.ts'
import type { Model } from '../../src/host/models/model.ts'
import type { HostOptions, SamplingContextRequest } from '../../src/host/options.ts'
import type { PolicyRule } from '../../src/host/policy.ts'
import type { CreateMessageParams } from '../../src/protocol/sampling.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { echo, script, serverWith } from './support.ts'

/** A model that answers with the system prompt of the request. */
function promptReader() {
  const requests: CreateMessageParams[] = []
  const model: Model = {
    choices: [{ name: 'reader' }],
    generate: async ({ params, model }) => {
      requests.push(params)
      const content = { type: 'text' as const, text: params.systemPrompt ?? 'no system prompt' }
      return { role: 'assistant', model, content, stopReason: 'endTurn' }
    },
  }
  return { model, requests }
}

/** A server that asks for context. */
function curious(includeContext: CreateMessageParams['includeContext']): McpServer {
  const server = new McpServer({ name: 'curious', version: '1.0.0' })
  server.registerTool('think', {}, async (_, ctx) => {
    const message = { role: 'user' as const, content: { type: 'text' as const, text: 'What do you know?' } }
    const { content } = await ctx.sample({ messages: [message], maxTokens: 100, includeContext })
    return Array.isArray(content) ? 'several blocks' : content.type === 'text' ? content.text : content.type
  })
  return server
}

const open: readonly PolicyRule[] = [
  { kind: ['connect', 'definitions'], decide: 'allow' },
  { kind: ['tool', 'sampling', 'sampling-result'], decide: 'allow' },
]

function hostWith(
  scope: CreateMessageParams['includeContext'],
  options: Partial<HostOptions> = {},
  rules: readonly PolicyRule[] = [],
) {
  const { model, requests } = promptReader()
  const seen: SamplingContextRequest[] = []
  const context = (request: SamplingContextRequest) => {
    seen.push(request)
    return `notes of ${request.servers.join(' and ')}`
  }
  const host = createHost({
    servers: { s: { server: curious(scope) }, mail: { server: echo() }, web: { server: serverWith('fetch') } },
    policy: [...rules, ...open],
    model,
    sampling: { context },
    ...options,
  })
  return { host, requests, seen }
}

describe('context for sampling', () => {
  it('is none unless the host provides it, and servers are told so [SAMP-027, SAMP-039]', async () => {
    const { host: opening } = hostWith('allServers', { sampling: {} })
    await using host = await opening
    expect((await host.callTool('s_think')).text).toBe('no system prompt')
  })

  it('is not asked for if the server does not ask', async () => {
    const { host: opening, seen } = hostWith('none')
    await using host = await opening
    expect((await host.callTool('s_think')).text).toBe('no system prompt')
    expect(seen).toEqual([])
  })

  it('of its own server is added to the system prompt, by the rules of every sampling request [SAMP-041]', async () => {
    const { host: opening, seen } = hostWith('thisServer')
    await using host = await opening
    expect((await host.callTool('s_think')).text).toBe('Context:\nnotes of s')
    expect(seen).toMatchObject([{ server: { id: 's' }, scope: 'thisServer', servers: ['s'] }])
  })

  it('of other servers needs the user, although a rule allows sampling [HOST-013]', async () => {
    const { approve, asked } = script('once', 'once')
    const { host: opening } = hostWith('allServers', { approve })
    await using host = await opening
    expect((await host.callTool('s_think')).text).toBe('Context:\nnotes of s and mail and web')
    const [request, result] = asked.map(({ action }) => action) as [SamplingAction, SamplingResultAction]
    expect(request).toMatchObject({ kind: 'sampling', contextFrom: ['mail', 'web'] })
    expect(request.request.systemPrompt).toContain('mail')
    expect(result).toMatchObject({ kind: 'sampling-result', contextFrom: ['mail', 'web'] })
    expect(asked[0]?.reason).toBe('The request contains context of mail, web, which would go to s')
  })

  it('of other servers is denied without a user [HOST-013]', async () => {
    const { host: opening, requests } = hostWith('allServers')
    await using host = await opening
    await expect(host.callTool('s_think')).rejects.toThrow('rejected the sampling request')
    expect(requests).toEqual([])
  })

  it('has nothing of servers that a rule denies [HOST-013]', async () => {
    const { approve } = script('once', 'once')
    const { host: opening, seen } = hostWith('allServers', { approve }, [{ from: 'mail', server: 's', decide: 'deny' }])
    await using host = await opening
    expect((await host.callTool('s_think')).text).toBe('Context:\nnotes of s and web')
    expect(seen[0]?.servers).toEqual(['s', 'web'])
  })

  it('of other servers is allowed by a rule that names them', async () => {
    const rules = [
      { kind: ['sampling', 'sampling-result'], from: ['mail', 'web'], server: 's', decide: 'allow' },
    ] as const
    const { host: opening } = hostWith('allServers', {}, rules)
    await using host = await opening
    expect((await host.callTool('s_think')).text).toContain('mail')
  })

  it('is not covered by a grant for a request without it', async () => {
    const asking = [{ kind: 'sampling', decide: 'ask' }] as const
    let scope: 'none' | 'allServers' = 'none'
    const server = new McpServer({ name: 'curious', version: '1.0.0' })
    server.registerTool('think', {}, async (_, ctx) => {
      const message = { role: 'user' as const, content: { type: 'text' as const, text: 'Hi' } }
      await ctx.sample({ messages: [message], maxTokens: 100, includeContext: scope })
      return 'sampled'
    })
    const { approve, asked } = script('session', 'deny')
    const servers = { s: { server }, mail: { server: echo() } }
    const { host: opening } = hostWith('none', { servers, approve }, asking)
    await using host = await opening
    await host.callTool('s_think')
    await host.callTool('s_think')
    expect(asked).toHaveLength(1)
    scope = 'allServers'
    await expect(host.callTool('s_think')).rejects.toThrow('rejected')
    expect(asked).toHaveLength(2)
  })
})

it('a server does not learn why the model of a host failed, and the audit log has no text of the request [SAMP-030]', async () => {
  const secret = 'account 4711-0815'
  const server = new McpServer({ name: 'curious', version: '1.0.0' }, { revisions: ['2025-11-25'] })
  server.registerTool('think', {}, async (_, ctx) => {
    const message = { role: 'user' as const, content: { type: 'text' as const, text: `What is in ${secret}?` } }
    return ctx.sample({ messages: [message], maxTokens: 100 }).then(
      () => 'sampled',
      (error: Error) => `failed: ${error.message} ${JSON.stringify(error)}`,
    )
  })
  const model: Model = {
    choices: [{ name: 'reader' }],
    generate: () => Promise.reject(new Error(`No quota for ${secret}`)),
  }
  const audit = memoryAudit()
  await using host = await createHost({ servers: { s: { server } }, policy: open, model, audit })
  const { text } = await host.callTool('s_think')
  expect(text).toMatch(/^failed: /)
  await audit.flush()
  const sampled = audit.lines.filter((line) => JSON.parse(line).event === 'sampling')
  expect(sampled).toHaveLength(1)
  expect(`${text} ${audit.lines.join()}`).not.toContain('What is in')
  expect(text).not.toContain('4711')
})

describe('the sampling budget of a host', () => {
  const budget = { requestsPerMinute: 2 }

  it('limits each server, and can be another for one [SAMP-034, HOST-027]', async () => {
    const { model } = promptReader()
    const servers = { s: { server: curious('none') }, t: { server: curious('none') } }
    const sampling = { budget: { requestsPerMinute: 1 }, budgets: { t: budget } }
    await using host = await createHost({ servers, policy: open, model, sampling })
    await host.callTool('s_think')
    await expect(host.callTool('s_think')).rejects.toThrow(
      'the server "s" may use at most 1 sampling requests per minute',
    )
    await host.callTool('t_think')
    await host.callTool('t_think')
    await expect(host.callTool('t_think')).rejects.toThrow(
      'the server "t" may use at most 2 sampling requests per minute',
    )
  })

  it('is one for all sessions of the host [SAMP-034]', async () => {
    const { model } = promptReader()
    const servers = { s: { server: curious('none') } }
    await using host = await createHost({ servers, policy: open, model, sampling: { budget } })
    const [one, two] = [host.session({}), host.session({})]
    await one.callTool('s_think')
    await two.callTool('s_think')
    await expect(one.callTool('s_think')).rejects.toThrow('Sampling limit reached')
    await expect(host.callTool('s_think')).rejects.toThrow('Sampling limit reached')
  })

  it('must name configured servers, and have positive limits', async () => {
    const servers = { files: { server: serverWith('read') } }
    await expect(createHost({ servers, sampling: { budgets: { fiels: budget } } })).rejects.toThrow(
      'sampling.budgets names the server "fiels", which is not configured. Did you mean "files"?',
    )
    await expect(createHost({ servers, sampling: { budget: { tokensPerDay: 0 } } })).rejects.toThrow('tokensPerDay')
  })
})
