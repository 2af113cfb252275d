import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { connect } from '../../src/connect/connect.ts'
import { McpError, ProtocolError } from '../../src/errors.ts'
import type { ActionServer, SamplingAction, SamplingResultAction } from '../../src/host/action.ts'
import type { AuditRecord } from '../../src/host/audit/audit.ts'
import type { Model, ModelAnswer, ModelRequest } from '../../src/host/models/model.ts'
import { SamplingCoordinator, type SamplingOptions } from '../../src/host/sampling.ts'
import type { CreateMessageParams } from '../../src/protocol/sampling.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { errorOf } from '../kit/error-of.ts'

const server: ActionServer = { id: 'files', trust: 'untrusted', address: 'node files.js' }
const other: ActionServer = { ...server, id: 'mail' }

const answer: ModelAnswer = {
  role: 'assistant',
  content: { type: 'text', text: 'Four' },
  model: 'small-1',
  stopReason: 'endTurn',
  usage: { inputTokens: 10, outputTokens: 5 },
}

const ask = (params: Partial<CreateMessageParams> = {}): CreateMessageParams => ({
  messages: [{ role: 'user', content: { type: 'text', text: 'Two and two?' } }],
  maxTokens: 100,
  ...params,
})

type Action = SamplingAction | SamplingResultAction

/** A coordinator with a scripted model, and everything that it did. */
function create(options: Partial<SamplingOptions> = {}, generate?: (request: ModelRequest) => Promise<ModelAnswer>) {
  const asked: Action[] = []
  const requests: ModelRequest[] = []
  const records: AuditRecord[] = []
  const model: Model = {
    choices: [
      { name: 'small-1', cost: 0.1, speed: 0.9, intelligence: 0.3 },
      { name: 'large-1', cost: 0.9, speed: 0.3, intelligence: 0.9 },
    ],
    async generate(request) {
      requests.push(request)
      return generate ? generate(request) : answer
    },
  }
  const coordinator = new SamplingCoordinator({
    model,
    async approve(action) {
      asked.push(action)
      return { allowed: true }
    },
    audit: (record) => records.push(record),
    ...options,
  })
  const sample = (params = ask(), from = server, signal = new AbortController().signal) =>
    coordinator.sample(from, params, signal)
  return { coordinator, sample, asked, requests, records }
}

beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 10, 16, 12) })
})
afterEach(() => {
  vi.useRealTimers()
})

describe('approval of sampling', () => {
  it('asks before the request goes to the model, and before its result goes to the server [HOST-005] [SAMP-029]', async () => {
    const { sample, asked, requests } = create()
    expect(await sample()).toEqual({
      role: 'assistant',
      content: { type: 'text', text: 'Four' },
      model: 'small-1',
      stopReason: 'endTurn',
    })
    expect(requests).toHaveLength(1)
    expect(asked.map(({ kind, server: { id } }) => [kind, id])).toEqual([
      ['sampling', 'files'],
      ['sampling-result', 'files'],
    ])
    expect(asked[1]).toMatchObject({ request: { maxTokens: 100 }, result: { content: { text: 'Four' } } })
  })

  it('leaves nothing of messages, system prompts and answers in the audit log and in errors for the server [SAMP-030]', async () => {
    const secret = 'account 4711-0815'
    const request = ask({
      messages: [{ role: 'user', content: { type: 'text', text: `What is in ${secret}?` } }],
      systemPrompt: `You know ${secret}`,
    })
    const outcomes: (Partial<SamplingOptions> | undefined)[] = [
      {},
      { approve: async () => ({ allowed: false }) },
      { approve: async ({ kind }) => ({ allowed: kind === 'sampling' }) },
    ]
    const content = { type: 'text' as const, text: `In ${secret} there is nothing` }
    for (const options of outcomes) {
      const { sample, records } = create(options, async () => ({ ...answer, content }))
      const settled = await sample(request).catch((error: unknown) => error)
      expect(records).toHaveLength(1)
      expect(JSON.stringify(records)).not.toContain('4711')
      if (settled instanceof Error) expect(`${settled.message} ${JSON.stringify(settled)}`).not.toContain('4711')
    }
  })

  it('never calls the model if the request is denied [HOST-005] [SAMP-004]', async () => {
    const { sample, requests, records } = create({ approve: async () => ({ allowed: false }) })
    const error = await errorOf<ProtocolError>(sample())
    expect(error).toBeInstanceOf(ProtocolError)
    expect(error.rpcCode).toBe(-1)
    expect(requests).toEqual([])
    expect(records).toMatchObject([{ event: 'sampling', server: 'files', details: { outcome: 'request-denied' } }])
  })

  it('keeps the result from the server if it is denied [HOST-005] [SAMP-004]', async () => {
    const approve = async ({ kind }: Action) => ({ allowed: kind === 'sampling' })
    const { sample, requests, records } = create({ approve })
    const error = await errorOf<ProtocolError>(sample())
    expect(error.rpcCode).toBe(-1)
    expect(error.message).not.toContain('Four')
    expect(requests).toHaveLength(1)
    expect(records).toMatchObject([{ details: { outcome: 'result-denied', outputTokens: 5 } }])
  })

  it('uses the edited request and the edited result [HOST-005] [SAMP-004] [SAMP-038]', async () => {
    const approve = async (action: Action) => ({
      allowed: true,
      edited:
        action.kind === 'sampling'
          ? {
              ...action.request,
              systemPrompt: 'Be brief.',
              maxTokens: 1_000_000,
              includeContext: 'allServers' as const,
            }
          : { ...action.result, content: { type: 'text' as const, text: '4' } },
    })
    const { sample, requests, records } = create({ approve })
    expect((await sample()).content).toEqual({ type: 'text', text: '4' })
    expect(requests[0]?.params).toMatchObject({ systemPrompt: 'Be brief.', maxTokens: 4_096 })
    expect(requests[0]?.params).not.toHaveProperty('includeContext')
    expect(records).toMatchObject([{ details: { requestEdited: true, resultEdited: true } }])
  })

  it('rejects an edited request or result that is invalid', async () => {
    const badRequest = create({ approve: async () => ({ allowed: true, edited: ask({ maxTokens: 0 }) }) })
    await expect(badRequest.sample()).rejects.toThrow(/edited request is invalid: params.maxTokens/)
    const approve = async ({ kind }: Action) =>
      kind === 'sampling' ? { allowed: true } : { allowed: true, edited: { ...answer, role: 'system' as 'user' } }
    await expect(create({ approve }).sample()).rejects.toThrow(/edited result is invalid: role/)
  })

  it('stops waiting for the user and for the model when the request is cancelled', async () => {
    const never = () => new Promise<never>(() => undefined)
    for (const stuck of [create({ approve: never }), create({}, never)]) {
      const controller = new AbortController()
      const pending = errorOf(stuck.sample(ask(), server, controller.signal))
      await vi.advanceTimersByTimeAsync(0)
      controller.abort()
      expect(await pending).toMatchObject({ code: 'cancelled' })
      expect(stuck.coordinator.usageOf('files').running).toBe(0)
    }
  })
})

describe('the request that the model gets', () => {
  it('goes to the model that fits the hints and priorities [HOST-011] [SAMP-035]', async () => {
    const { sample, requests } = create()
    await sample()
    await sample(ask({ modelPreferences: { intelligencePriority: 1 } }))
    await sample(ask({ modelPreferences: { hints: [{ name: 'small' }], intelligencePriority: 1 } }))
    expect(requests.map(({ model }) => model)).toEqual(['small-1', 'large-1', 'small-1'])
  })

  it('has at most the tokens that the budget allows, and the user sees that number [SAMP-015] [SAMP-040] [HOST-027]', async () => {
    const { sample, requests, asked } = create({ budgets: { mail: { maxTokensPerRequest: 10 } } })
    await sample(ask({ maxTokens: 50 }))
    await sample(ask({ maxTokens: 50_000 }))
    await sample(ask({ maxTokens: 50 }), other)
    expect(requests.map(({ params }) => params.maxTokens)).toEqual([50, 4_096, 10])
    expect(asked.map(({ request }) => request.maxTokens)).toEqual([50, 50, 4_096, 4_096, 10, 10])
  })

  it('is refused if it is invalid, before the user is asked [SAMP-036]', async () => {
    const { sample, asked, requests } = create()
    const stray = { type: 'tool_result' as const, toolUseId: 'x', content: [] }
    for (const params of [ask({ maxTokens: -1 }), ask({ messages: [{ role: 'user', content: stray }] })]) {
      expect(await errorOf(sample(params))).toMatchObject({ code: 'protocol', rpcCode: -32_602 })
    }
    expect([asked, requests]).toEqual([[], []])
  })

  it('goes to a model of another provider if a hint stands for it [SAMP-011, SAMP-013]', async () => {
    const hints = { haiku: 'small-1', Claude: 'large-1' }
    const { sample, requests } = create({ hints })
    const preferring = (...names: string[]) => ask({ modelPreferences: { hints: names.map((name) => ({ name })) } })
    for (const names of [
      ['claude-3-haiku'],
      ['claude-sonnet-5'],
      ['gemini', 'CLAUDE'],
      ['small', 'claude'],
      ['gemini'],
    ]) {
      await sample(preferring(...names))
    }
    expect(requests.map(({ model }) => model)).toEqual(['small-1', 'large-1', 'large-1', 'small-1', 'small-1'])
  })

  it('throws if a hint stands for a model that there is not', () => {
    expect(() => create({ hints: { claude: 'nano' } })).toThrow(
      'sampling.hints: claude stands for the model "nano". Models are: small-1, large-1.',
    )
    expect(() => create({ hints: { '': 'small-1' } })).toThrow('empty name')
  })

  it('has no context of any server unless the host provides it [SAMP-039]', async () => {
    const { sample, requests, asked, records } = create()
    await sample(ask({ includeContext: 'allServers' }))
    expect(requests[0]?.params).toEqual(ask())
    expect(asked[0]?.request).toEqual(ask())
    expect(records).toMatchObject([{ details: { contextRequested: 'allServers' } }])
    expect(records[0]?.details).not.toHaveProperty('contextAdded')
  })

  it('has the context that the host provides, which the user sees [SAMP-041]', async () => {
    const scopes: unknown[] = []
    const context: SamplingOptions['context'] = async ({ server: { id }, scope }) => {
      scopes.push([id, scope])
      return id === 'files' ? 'Open file: a.txt' : undefined
    }
    const { sample, asked } = create({ context })
    await sample(ask({ includeContext: 'thisServer', systemPrompt: 'Be brief.' }))
    await sample(ask({ includeContext: 'thisServer' }), other)
    await sample(ask({ includeContext: 'none' }))
    expect(scopes).toEqual([
      ['files', 'thisServer'],
      ['mail', 'thisServer'],
    ])
    expect(asked.filter(({ kind }) => kind === 'sampling').map(({ request }) => request.systemPrompt)).toEqual([
      'Be brief.\n\nContext:\nOpen file: a.txt',
      undefined,
      undefined,
    ])
  })
})

describe('the answer of the model', () => {
  it.each([
    ['uses more tokens than allowed', { ...answer, usage: { inputTokens: 1, outputTokens: 101 } }, /101 tokens/],
    ['is far too long', { ...answer, usage: undefined, content: { type: 'text', text: 'x'.repeat(20_000) } }, /tokens/],
    [
      'uses a tool that was not offered',
      { ...answer, content: { type: 'tool_use', id: 'a', name: 'rm', input: {} } },
      /tool/,
    ],
    ['has no content block', { role: 'assistant', content: 'hi', model: 'm' }, /content/],
    ['is not a message', 'hi', /must be an object/],
  ])('is refused if it %s [SAMP-015]', async (_, given, text) => {
    const { sample, asked, records } = create({}, async () => given as ModelAnswer)
    const error = await errorOf(sample())
    expect(error).toMatchObject({ code: 'invalid-response' })
    expect(error.message).toMatch(text)
    expect(asked.map(({ kind }) => kind)).toEqual(['sampling'])
    expect(records).toMatchObject([{ details: { outcome: 'failed', error: error.message } }])
  })

  it('is recorded with counts and what was omitted, but without the messages', async () => {
    const { sample, records } = create({}, async () => ({ ...answer, omitted: ['temperature'] }))
    expect(await sample(ask({ maxTokens: 9_000 }))).not.toHaveProperty('omitted')
    expect(records).toEqual([
      {
        event: 'sampling',
        server: 'files',
        details: {
          outcome: 'sent',
          model: 'small-1',
          requestedTokens: 9_000,
          maxTokens: 4_096,
          inputTokens: 10,
          outputTokens: 5,
          isEstimated: false,
          omitted: ['temperature'],
        },
      },
    ])
  })

  it('can fail, which is recorded', async () => {
    const { sample, records } = create({}, async () => {
      throw new McpError('http', 'The Anthropic API answered with status 500: x')
    })
    await expect(sample()).rejects.toMatchObject({ code: 'http' })
    expect(records).toMatchObject([{ details: { outcome: 'failed', error: expect.stringContaining('500') } }])
  })
})

describe('the sampling budget of a server', () => {
  it('limits the requests per minute, for each server on its own [SAMP-034] [HOST-027]', async () => {
    const { sample, asked } = create({ budget: { requestsPerMinute: 2 } })
    await sample()
    await sample()
    const error = await errorOf<ProtocolError>(sample())
    expect(error).toMatchObject({ rpcCode: -32_000, data: { error: 'rate_limited', retryAfterMs: 30_000 } })
    expect(asked).toHaveLength(4)
    await sample(ask(), other)
    vi.advanceTimersByTime(30_000)
    await sample()
  })

  it('limits requests at the same time, including those that wait for the user', async () => {
    const { sample, coordinator } = create({ approve: () => new Promise(() => undefined) })
    const controller = new AbortController()
    const waiting = [1, 2].map(() => errorOf(sample(ask(), server, controller.signal)))
    expect(await errorOf(sample())).toMatchObject({ rpcCode: -32_000 })
    expect(coordinator.usageOf('files').running).toBe(2)
    controller.abort()
    await Promise.all(waiting)
    expect(coordinator.usageOf('files').running).toBe(0)
  })

  it('counts the tokens that the model reports, and starts again the next day [HOST-027]', async () => {
    const budget = { tokensPerDay: 40, requestsPerMinute: 1_000 }
    const { sample, coordinator, requests } = create({ budget })
    await sample()
    expect(coordinator.usageOf('files')).toEqual({ tokensToday: 15, tokensPerDay: 40, running: 0 })
    await sample()
    expect(coordinator.usageOf('files').tokensToday).toBe(30)
    // Four tokens are estimated for the question, so 6 are left.
    await sample()
    expect(requests.map(({ params }) => params.maxTokens)).toEqual([36, 21, 6])
    const error = await errorOf<ProtocolError>(sample())
    expect(error).toMatchObject({ rpcCode: -32_000, data: { retryAfterMs: 12 * 3_600_000 } })
    vi.advanceTimersByTime(12 * 3_600_000)
    await sample()
    expect(coordinator.usageOf('files').tokensToday).toBe(15)
  })

  it('estimates the tokens if the model does not report them', async () => {
    const { sample, coordinator, records } = create({}, async () => ({
      ...answer,
      usage: undefined,
      content: { type: 'text', text: 'x'.repeat(30) },
    }))
    await sample()
    expect(coordinator.usageOf('files').tokensToday).toBe(14)
    expect(records).toMatchObject([{ details: { isEstimated: true, inputTokens: 4, outputTokens: 10 } }])
  })

  it('charges a request that failed with all that it could have cost', async () => {
    const { sample, coordinator } = create({}, async () => {
      throw new McpError('http', 'x')
    })
    await errorOf(sample())
    expect(coordinator.usageOf('files').tokensToday).toBe(104)
  })

  it('lets a server use its last token of the day, and no more', async () => {
    const outcomes: number[] = []
    for (let tokensPerDay = 1; tokensPerDay < 40; tokensPerDay++) {
      const { sample, requests } = create({ budget: { tokensPerDay, requestsPerMinute: 1_000 } })
      await sample().catch(() => {})
      outcomes.push(requests[0]?.params.maxTokens ?? 0)
    }
    const first = outcomes.findIndex((maxTokens) => maxTokens > 0)
    expect(first).toBeGreaterThan(0)
    expect(outcomes.slice(first)).toEqual(outcomes.slice(first).map((_, index) => index + 1))
  })

  it('is not exceeded by requests that run at the same time', async () => {
    const budget = { tokensPerDay: 100, maxConcurrent: 10, requestsPerMinute: 1_000 }
    const { sample, requests } = create({ budget }, async () => ({ ...answer, usage: undefined }))
    await Promise.allSettled(Array.from({ length: 10 }, () => sample(ask({ maxTokens: 60 }))))
    const granted = requests.reduce((sum, { params }) => sum + params.maxTokens + 4, 0)
    expect(requests.length).toBeGreaterThan(0)
    expect(granted).toBeLessThanOrEqual(100)
  })

  it('must be positive', () => {
    expect(() => create({ budget: { tokensPerDay: 0 } })).toThrow(/"tokensPerDay" must be greater than 0/)
    expect(() => create({ budgets: { mail: { maxConcurrent: Number.NaN } } })).toThrow(TypeError)
  })

  it('of a single server replaces the limits that it names', () => {
    const { coordinator } = create({ budget: { tokensPerDay: 50 }, budgets: { mail: { maxConcurrent: 1 } } })
    expect(coordinator.usageOf('mail').tokensPerDay).toBe(50)
    expect(coordinator.usageOf('files').tokensPerDay).toBe(50)
  })
})

describe('sampling by a real server', () => {
  it('is approved, sampled and returned through a connection [HOST-005] [SAMP-004]', async () => {
    vi.useRealTimers()
    const { coordinator, asked } = create()
    const asking = new McpServer({ name: 'asking', version: '1.0.0' })
    asking.registerTool('think', {}, async (_args, ctx) => {
      const { content } = await ctx.sample({ messages: ask().messages, maxTokens: 7 })
      return JSON.stringify(content)
    })
    await using client = await connect(asking, {
      handlers: { sample: (params, { signal }) => coordinator.sample(server, params, signal) },
    })
    expect((await client.callTool('think')).text).toContain('Four')
    expect(asked.map(({ kind, request: { maxTokens } }) => [kind, maxTokens])).toEqual([
      ['sampling', 7],
      ['sampling-result', 7],
    ])
  })
})
