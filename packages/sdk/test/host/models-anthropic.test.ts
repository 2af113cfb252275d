import { describe, expect, it } from 'vitest'
import { HttpError, McpError, ProtocolError } from '../../src/errors.ts'
import { anthropic } from '../../src/host/models/anthropic.ts'
import { errorOf } from '../kit/error-of.ts'
import { apiError, key, request, scripted } from './scripted-models.ts'

const answer = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'large-1-20260101',
  content: [{ type: 'text', text: 'Hi', citations: null }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 10, cache_read_input_tokens: 5, cache_creation_input_tokens: null, output_tokens: 2 },
}

function adapt(...answers: unknown[]) {
  const { calls, create } = scripted(...answers)
  return { calls, model: anthropic({ messages: { create } }, { model: 'large-1' }) }
}

const image = { type: 'image', data: 'aW1n', mimeType: 'image/png' } as const

describe('the adapter for Anthropic', () => {
  it('sends a request with all parameters, and reads the message', async () => {
    const { calls, model } = adapt(answer)
    const message = await model.generate(
      request({
        systemPrompt: 'Be brief.',
        stopSequences: ['END'],
        metadata: { user_id: 'u1' },
        messages: [
          { role: 'user', content: [{ type: 'text', text: 'What is this?' }, image] },
          { role: 'assistant', content: { type: 'text', text: 'A cat.' } },
        ],
      }),
    )
    expect(calls[0]?.body).toEqual({
      model: 'large-1',
      max_tokens: 100,
      system: 'Be brief.',
      stop_sequences: ['END'],
      metadata: { user_id: 'u1' },
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aW1n' } },
          ],
        },
        { role: 'assistant', content: [{ type: 'text', text: 'A cat.' }] },
      ],
    })
    expect(message).toEqual({
      role: 'assistant',
      content: { type: 'text', text: 'Hi' },
      model: 'large-1-20260101',
      stopReason: 'endTurn',
      usage: { inputTokens: 15, outputTokens: 2 },
    })
  })

  it('sends tools, their uses and results, and maps names back to those of the server', async () => {
    const tool = { name: 'files.read', description: 'Reads', inputSchema: { type: 'object' as const } }
    const use = (body: { tools: { name: string }[] }) => ({
      ...answer,
      content: [
        { type: 'thinking', thinking: 'Let me see.' },
        { type: 'tool_use', id: 'call_2', name: body.tools[0]?.name, input: { path: 'b' } },
      ],
      stop_reason: 'tool_use',
    })
    const { calls, model } = adapt(use)
    const message = await model.generate(
      request({
        tools: [tool],
        toolChoice: { mode: 'required' },
        messages: [
          { role: 'user', content: { type: 'text', text: 'Read a' } },
          { role: 'assistant', content: { type: 'tool_use', id: 'call_1', name: 'files.read', input: { path: 'a' } } },
          {
            role: 'user',
            content: {
              type: 'tool_result',
              toolUseId: 'call_1',
              content: [{ type: 'text', text: 'not found' }, image],
              isError: true,
            },
          },
        ],
      }),
    )
    const { body } = calls[0]!
    const name = body.tools[0].name
    expect(name).toMatch(/^files_read_[a-z0-9]{10}$/)
    expect(body.tool_choice).toEqual({ type: 'any' })
    expect(body.messages[1].content).toEqual([{ type: 'tool_use', id: 'call_1', name, input: { path: 'a' } }])
    expect(body.messages[2].content).toEqual([
      {
        type: 'tool_result',
        tool_use_id: 'call_1',
        content: [
          { type: 'text', text: 'not found' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aW1n' } },
        ],
        is_error: true,
      },
    ])
    expect(message).toMatchObject({
      content: { type: 'tool_use', id: 'call_2', name: 'files.read', input: { path: 'b' } },
      stopReason: 'toolUse',
    })
  })

  it.each([
    ['max_tokens', 'maxTokens'],
    ['stop_sequence', 'stopSequence'],
    ['refusal', 'refusal'],
  ])('maps the stop reason %s to %s', async (stop_reason, expected) => {
    const { model } = adapt({ ...answer, stop_reason })
    expect((await model.generate(request())).stopReason).toBe(expected)
  })

  it('reports the temperature and unknown metadata as omitted, and sends the temperature if told to', async () => {
    const params = { temperature: 0.2, metadata: { user_id: 'u1', plan: 'free' } }
    const { calls, model } = adapt(answer)
    expect((await model.generate(request(params))).omitted).toEqual(['temperature', 'metadata.plan'])
    expect(calls[0]?.body).not.toHaveProperty('temperature')

    const { calls: sent, create } = scripted(answer)
    const warm = anthropic({ messages: { create } }, { model: 'large-1', temperature: true })
    expect((await warm.generate(request({ temperature: 0.2 }))).omitted).toBeUndefined()
    expect(sent[0]?.body.temperature).toBe(0.2)
  })

  it.each([
    ['audio', { type: 'audio', data: 'YQ==', mimeType: 'audio/wav' }, 'user', /messages\[0\].*no audio input/],
    ['images of other types', { ...image, mimeType: 'image/tiff' }, 'user', /messages\[0\].*image\/jpeg/],
    ['images of the assistant', image, 'assistant', /only messages of the user/],
  ] as const)('rejects %s with an error that the server can see, and calls nothing', async (_, content, role, text) => {
    const { calls, model } = adapt(answer)
    const error = await errorOf(model.generate(request({ messages: [{ role, content }] })))
    expect(error).toBeInstanceOf(ProtocolError)
    expect((error as Error).message).toMatch(text)
    expect(calls).toEqual([])
  })

  it.each([401, 400, 529])('names the API and the status %i of an error, and never the key', async (status) => {
    const { model } = adapt(apiError(status, `${status} invalid x-api-key ${key} Bearer ${key}`))
    const error = (await errorOf(model.generate(request()))) as HttpError
    expect(error).toBeInstanceOf(HttpError)
    expect(error).toMatchObject({ code: 'http', status, outcome: 'refused' })
    expect(error.message).toContain('Anthropic API')
    expect(error.message).toContain(String(status))
    expect(error.cause).toBeUndefined()
    expect(JSON.stringify({ ...error, message: error.message, stack: error.stack })).not.toContain('0123456789')
  })

  it('reports a broken connection without a status', async () => {
    const { model } = adapt(new Error('Connection error.'))
    await expect(model.generate(request())).rejects.toMatchObject({
      code: 'http',
      outcome: 'unknown',
      status: undefined,
    })
  })

  it('passes the signal, and rejects as soon as it aborts', async () => {
    const controller = new AbortController()
    const { calls, model } = adapt(() => new Promise(() => undefined))
    const pending = errorOf(model.generate(request({}, controller.signal)))
    controller.abort()
    expect(await pending).toMatchObject({ code: 'cancelled' })
    expect(calls[0]?.signal).toBe(controller.signal)
    await expect(model.generate(request({}, controller.signal))).rejects.toMatchObject({ code: 'cancelled' })
    expect(calls).toHaveLength(1)
  })

  it.each([
    ['no content', { ...answer, content: undefined }],
    ['an unknown block', { ...answer, content: [{ type: 'server_tool_use', id: 'x' }] }],
    ['a tool that was not offered', { ...answer, content: [{ type: 'tool_use', id: 'x', name: 'rm', input: {} }] }],
    ['nothing', undefined],
  ])('rejects an answer with %s', async (_, given) => {
    const { model } = adapt(given)
    const error = await errorOf(model.generate(request()))
    expect(error).toBeInstanceOf(McpError)
    expect(error).toMatchObject({ code: 'invalid-response' })
  })

  it('requires a model, or a list of models', () => {
    const client = { messages: { create: async () => answer } }
    expect(() => anthropic(client, {})).toThrow(TypeError)
    expect(() => anthropic(client, { models: [] })).toThrow(TypeError)
    expect(() => anthropic(client, { model: 'a', models: ['b'] })).toThrow(TypeError)
    expect(anthropic(client, { models: ['a', { name: 'b', cost: 1 }] }).choices).toEqual([
      { name: 'a' },
      { name: 'b', cost: 1 },
    ])
  })
})
