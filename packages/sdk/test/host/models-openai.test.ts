import { describe, expect, it } from 'vitest'
import { ProtocolError } from '../../src/errors.ts'
import { openai } from '../../src/host/models/openai.ts'
import { errorOf } from '../kit/error-of.ts'
import { apiError, key, request, scripted } from './scripted-models.ts'

const image = { type: 'image', data: 'aW1n', mimeType: 'image/png' } as const
const sound = { type: 'audio', data: 'c25k', mimeType: 'audio/mpeg' } as const
const tool = { name: 'read', inputSchema: { type: 'object' as const, properties: { path: { type: 'string' } } } }

/** A conversation in which the assistant has used a tool. */
const conversation = [
  { role: 'user' as const, content: { type: 'text' as const, text: 'Read a' } },
  {
    role: 'assistant' as const,
    content: [
      { type: 'text' as const, text: 'I will.' },
      { type: 'tool_use' as const, id: 'call_1', name: 'read', input: { path: 'a' } },
    ],
  },
  {
    role: 'user' as const,
    content: {
      type: 'tool_result' as const,
      toolUseId: 'call_1',
      content: [{ type: 'text' as const, text: 'the file' }, image],
    },
  },
]

describe('the adapter for OpenAI chat completions', () => {
  const message = { role: 'assistant', content: 'Hi', refusal: null }
  const answer = {
    model: 'large-1-2026',
    choices: [{ index: 0, finish_reason: 'stop', message }],
    usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
  }
  const adapt = (given: unknown, options = {}) => {
    const { calls, create } = scripted(given)
    return { calls, model: openai({ chat: { completions: { create } } }, { model: 'large-1', ...options }) }
  }

  it('sends a request with all parameters, and reads the message', async () => {
    const { calls, model } = adapt(answer)
    const result = await model.generate(
      request({
        systemPrompt: 'Be brief.',
        temperature: 0.2,
        stopSequences: ['END'],
        messages: [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, image, sound] }],
      }),
    )
    expect(calls[0]?.body).toEqual({
      model: 'large-1',
      max_completion_tokens: 100,
      temperature: 0.2,
      stop: ['END'],
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,aW1n' } },
            { type: 'input_audio', input_audio: { data: 'c25k', format: 'mp3' } },
          ],
        },
      ],
    })
    expect(result).toEqual({
      role: 'assistant',
      content: { type: 'text', text: 'Hi' },
      model: 'large-1-2026',
      stopReason: 'endTurn',
      usage: { inputTokens: 10, outputTokens: 2 },
    })
  })

  it('sends tools, their uses and results, and reads tool calls', async () => {
    const call = { id: 'call_2', type: 'function', function: { name: 'read', arguments: '{"path":"b"}' } }
    const choice = { finish_reason: 'tool_calls', message: { ...message, content: null, tool_calls: [call] } }
    const { calls, model } = adapt({ ...answer, choices: [choice] })
    const result = await model.generate(request({ tools: [tool], messages: conversation }))
    const { body } = calls[0]!
    expect(body.tools).toEqual([{ type: 'function', function: { name: 'read', parameters: tool.inputSchema } }])
    expect(body.tool_choice).toBe('auto')
    expect(body.messages[1]).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'I will.' }],
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } }],
    })
    expect(body.messages[2]).toMatchObject({ role: 'tool', tool_call_id: 'call_1' })
    expect(body.messages[2].content).toMatch(/^the file\n\[Left out: image of the type "image\/png"/)
    expect(result).toMatchObject({
      content: { type: 'tool_use', id: 'call_2', name: 'read', input: { path: 'b' } },
      stopReason: 'toolUse',
    })
    expect(result.omitted).toEqual([expect.stringMatching(/^messages\[2\]: left out image/)])
  })

  it.each([
    ['length', { finish_reason: 'length', message }, 'maxTokens'],
    ['content_filter', { finish_reason: 'content_filter', message }, 'contentFilter'],
    ['a refusal', { finish_reason: 'stop', message: { ...message, content: null, refusal: 'No.' } }, 'refusal'],
  ])('maps %s to a stop reason', async (_, choice, expected) => {
    const { model } = adapt({ ...answer, choices: [choice] })
    expect((await model.generate(request())).stopReason).toBe(expected)
  })

  it('applies stop sequences beyond the four that the API takes', async () => {
    const choice = { finish_reason: 'stop', message: { ...message, content: 'one two five six' } }
    const { calls, model } = adapt({ ...answer, choices: [choice] })
    const result = await model.generate(request({ stopSequences: ['a!', 'b!', 'c!', 'd!', ' five'] }))
    expect(calls[0]?.body.stop).toEqual(['a!', 'b!', 'c!', 'd!'])
    expect(result).toMatchObject({ content: { type: 'text', text: 'one two' }, stopReason: 'stopSequence' })
  })

  it('reports what it leaves out, and sends metadata only with stored messages', async () => {
    const params = { temperature: 1, metadata: { topic: 'x', size: 3 } }
    const { calls, model } = adapt(answer, { temperature: false, maxTokensParameter: 'max_tokens' })
    expect((await model.generate(request(params))).omitted).toEqual(['temperature', 'metadata.topic', 'metadata.size'])
    expect(calls[0]?.body).toEqual({ model: 'large-1', max_tokens: 100, messages: expect.anything() })

    const stored = adapt(answer, { store: true })
    expect((await stored.model.generate(request(params))).omitted).toEqual(['metadata.size'])
    expect(stored.calls[0]?.body).toMatchObject({ store: true, temperature: 1, metadata: { topic: 'x' } })
  })

  it.each([
    ['audio of other types', { ...sound, mimeType: 'audio/ogg' }, 'user', /audio\/wav or audio\/mpeg/],
    ['images of the assistant', image, 'assistant', /cannot have content of the type image/],
  ] as const)('rejects %s', async (_, content, role, text) => {
    const { calls, model } = adapt(answer)
    const error = await errorOf(model.generate(request({ messages: [{ role, content }] })))
    expect(error).toBeInstanceOf(ProtocolError)
    expect((error as Error).message).toMatch(text)
    expect(calls).toEqual([])
  })

  it('rejects tool calls whose arguments are not a JSON object', async () => {
    const call = { id: 'call_2', type: 'function', function: { name: 'read', arguments: '{"path":' } }
    const { model } = adapt({ ...answer, choices: [{ message: { ...message, tool_calls: [call] } }] })
    await expect(model.generate(request({ tools: [tool] }))).rejects.toMatchObject({ code: 'invalid-response' })
  })

  it.each([
    [
      'the message of the API',
      Object.assign(new Error('bad'), { status: 400, apiMessage: 'no such model' }),
      'no such model',
    ],
    ['a message without the status in front of it', Object.assign(new Error('400 no'), { status: 400 }), 'no'],
    ['a failure without a message', 'nothing', 'unknown error'],
  ])('reports %s', async (_, thrown, reason) => {
    const { model } = adapt(() => {
      throw thrown
    })
    const error = (await errorOf(model.generate(request()))) as Error
    expect(error.message).toMatch(new RegExp(`: ${reason}$`))
  })

  it('names the API and the status of an error, and never the key', async () => {
    const { model } = adapt(apiError(429, `Rate limit for key ${key}`))
    const error = (await errorOf(model.generate(request()))) as Error
    expect(error).toMatchObject({ code: 'http', status: 429 })
    expect(error.message).toBe('The OpenAI chat completions API answered with status 429: Rate limit for key [removed]')
  })
})

describe('the adapter for OpenAI responses', () => {
  const text = { type: 'output_text', text: 'Hi', annotations: [] }
  const answer = {
    model: 'large-1-2026',
    status: 'completed',
    error: null,
    incomplete_details: null,
    output: [
      { type: 'reasoning', id: 'r', summary: [] },
      { type: 'message', id: 'm', role: 'assistant', status: 'completed', content: [text] },
    ],
    usage: { input_tokens: 10, output_tokens: 2, total_tokens: 12 },
  }
  const adapt = (given: unknown) => {
    const { calls, create } = scripted(given)
    return { calls, model: openai({ responses: { create } }, { model: 'large-1', api: 'responses' }) }
  }

  it('sends a request that is not stored, and reads the message', async () => {
    const { calls, model } = adapt(answer)
    const result = await model.generate(
      request({
        systemPrompt: 'Be brief.',
        temperature: 0.2,
        messages: [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, image] }],
      }),
    )
    expect(calls[0]?.body).toEqual({
      model: 'large-1',
      max_output_tokens: 100,
      store: false,
      temperature: 0.2,
      instructions: 'Be brief.',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is this?' },
            { type: 'input_image', image_url: 'data:image/png;base64,aW1n', detail: 'auto' },
          ],
        },
      ],
    })
    expect(result).toEqual({
      role: 'assistant',
      content: { type: 'text', text: 'Hi' },
      model: 'large-1-2026',
      stopReason: 'endTurn',
      usage: { inputTokens: 10, outputTokens: 2 },
    })
  })

  it('sends tools, their uses and results with images, and reads tool calls', async () => {
    const call = { type: 'function_call', call_id: 'call_2', name: 'read', arguments: '{"path":"b"}' }
    const { calls, model } = adapt({ ...answer, output: [call] })
    const result = await model.generate(
      request({ tools: [tool], toolChoice: { mode: 'none' }, messages: conversation }),
    )
    const { body } = calls[0]!
    expect(body.tools).toEqual([{ type: 'function', name: 'read', parameters: tool.inputSchema, strict: false }])
    expect(body.tool_choice).toBe('none')
    expect(body.input.slice(1)).toEqual([
      { role: 'assistant', content: 'I will.' },
      { type: 'function_call', call_id: 'call_1', name: 'read', arguments: '{"path":"a"}' },
      {
        type: 'function_call_output',
        call_id: 'call_1',
        output: [
          { type: 'input_text', text: 'the file' },
          { type: 'input_image', image_url: 'data:image/png;base64,aW1n', detail: 'auto' },
        ],
      },
    ])
    expect(result).toMatchObject({
      content: { type: 'tool_use', id: 'call_2', name: 'read', input: { path: 'b' } },
      stopReason: 'toolUse',
    })
  })

  it('cuts the text at a stop sequence, because the API takes none', async () => {
    const { calls, model } = adapt(answer)
    const result = await model.generate(request({ stopSequences: ['', 'i'] }))
    expect(calls[0]?.body).not.toHaveProperty('stop')
    expect(result).toMatchObject({ content: { type: 'text', text: 'H' }, stopReason: 'stopSequence' })
  })

  it.each([
    ['max_output_tokens', 'maxTokens'],
    ['content_filter', 'contentFilter'],
  ])('maps an answer that is incomplete because of %s to %s', async (reason, expected) => {
    const { model } = adapt({ ...answer, status: 'incomplete', incomplete_details: { reason } })
    expect((await model.generate(request())).stopReason).toBe(expected)
  })

  it('rejects audio and failed responses', async () => {
    const { model } = adapt({ ...answer, status: 'failed', error: { code: 'server_error', message: 'x' } })
    const audio = errorOf(model.generate(request({ messages: [{ role: 'user', content: sound }] })))
    expect(await audio).toBeInstanceOf(ProtocolError)
    await expect(model.generate(request())).rejects.toThrow(/OpenAI responses API.*failed \(server_error\)/)
  })

  it('refuses more stop sequences than it is ready to search for', async () => {
    const { calls, model } = adapt(answer)
    const stopSequences = Array.from({ length: 101 }, (_, at) => `stop ${at}`)
    expect(await errorOf(model.generate(request({ stopSequences })))).toBeInstanceOf(ProtocolError)
    expect(calls).toEqual([])
  })

  it('requires the part of the client that the chosen API needs', () => {
    const chat = { chat: { completions: { create: async () => answer } } }
    expect(() => openai(chat as never, { model: 'a', api: 'responses' })).toThrow('responses.create')
    expect(() => openai({} as never, { model: 'a' })).toThrow('chat.completions.create')
  })
})

describe('content that OpenAI does not take', () => {
  const create = async () => ({})
  const chat = openai({ chat: { completions: { create } } }, { model: 'large-1' })
  const responses = openai({ responses: { create } }, { model: 'large-1', api: 'responses' })
  const use = { type: 'tool_use' as const, id: '1', name: 'read', input: {} }

  it.each([
    ['chat', chat, 'assistant', image, 'messages of the assistant cannot have content of the type image'],
    ['chat', chat, 'user', use, 'messages of the user cannot have content of the type tool_use'],
    ['chat', chat, 'user', { ...sound, mimeType: 'audio/ogg' }, 'audio must be audio/wav or audio/mpeg'],
    ['responses', responses, 'assistant', image, 'messages of the assistant cannot have content of the type image'],
    ['responses', responses, 'user', sound, 'messages of the user cannot have content of the type audio'],
  ] as const)('is refused with its place (%s)', async (_, model, role, block, message) => {
    const messages = [
      { role: 'user' as const, content: { type: 'text' as const, text: 'Hi' } },
      { role, content: [block] },
    ]
    const error = await errorOf(model.generate(request({ messages: messages as never })))
    expect(error.message).toContain(message)
    expect(error.message).toContain('messages[1]')
  })

  it('is named if the answer has nothing to read', async () => {
    const text = { messages: [{ role: 'user' as const, content: { type: 'text' as const, text: 'Hi' } }] }
    expect((await errorOf(chat.generate(request(text)))).message).toContain('it has no choices')
    expect((await errorOf(responses.generate(request(text)))).message).toContain('it has no output')
    const failed = openai(
      { responses: { create: async () => ({ status: 'failed', error: { code: 'server_error' } }) } },
      { model: 'large-1', api: 'responses' },
    )
    expect((await errorOf(failed.generate(request(text)))).message).toContain('its status is failed (server_error)')
    const odd = openai({ responses: { create: async () => 'text' as never } }, { model: 'large-1', api: 'responses' })
    expect((await errorOf(odd.generate(request(text)))).message).toContain('it is not an object')
  })
})
