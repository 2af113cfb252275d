import { describe, expect, it } from 'vitest'
import { aiSdk } from '../../src/host/models/ai-sdk.ts'
import { errorOf } from '../kit/error-of.ts'
import { apiError, key, request, scripted } from './scripted-models.ts'

const large = { specificationVersion: 'v3', provider: 'test', modelId: 'large-1' }
const answer = {
  text: 'Hi',
  toolCalls: [],
  files: [],
  finishReason: 'stop',
  usage: { inputTokens: 10, outputTokens: 2, totalTokens: 12 },
  response: { modelId: 'large-1-2026' },
  warnings: undefined,
}
const image = { type: 'image', data: 'aW1n', mimeType: 'image/png' } as const

describe('the adapter for the AI SDK', () => {
  it('passes all parameters to generateText, and reads the message', async () => {
    const { calls, create } = scripted(answer)
    const { signal } = new AbortController()
    let passed: AbortSignal | undefined
    const model = aiSdk((options) => {
      passed = options.abortSignal
      return create(options)
    }, large)
    const message = await model.generate(
      request(
        {
          systemPrompt: 'Be brief.',
          temperature: 0.2,
          stopSequences: ['END'],
          messages: [
            {
              role: 'user',
              content: [{ type: 'text', text: 'Hear' }, image, { type: 'audio', data: 'c25k', mimeType: 'audio/wav' }],
            },
          ],
        },
        signal,
      ),
    )
    expect(passed).toBe(signal)
    expect(calls[0]?.body).toMatchObject({
      model: large,
      system: 'Be brief.',
      maxOutputTokens: 100,
      temperature: 0.2,
      stopSequences: ['END'],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Hear' },
            { type: 'file', data: 'aW1n', mediaType: 'image/png' },
            { type: 'file', data: 'c25k', mediaType: 'audio/wav' },
          ],
        },
      ],
    })
    expect(message).toEqual({
      role: 'assistant',
      content: { type: 'text', text: 'Hi' },
      model: 'large-1-2026',
      stopReason: 'endTurn',
      usage: { inputTokens: 10, outputTokens: 2 },
    })
  })

  it('passes tools, their uses and results, and reads tool calls', async () => {
    const use = { type: 'tool-call', toolCallId: 'call_2', toolName: 'read', input: { path: 'b' } }
    const { calls, create } = scripted({ ...answer, text: 'So:', toolCalls: [use], finishReason: 'tool-calls' })
    const message = await aiSdk(create, large).generate(
      request({
        tools: [{ name: 'read', description: 'Reads', inputSchema: { type: 'object' } }],
        messages: [
          { role: 'user', content: { type: 'text', text: 'Read a' } },
          { role: 'assistant', content: { type: 'tool_use', id: 'call_1', name: 'read', input: { path: 'a' } } },
          {
            role: 'user',
            content: { type: 'tool_result', toolUseId: 'call_1', content: [{ type: 'text', text: 'ok' }] },
          },
        ],
      }),
    )
    const { body } = calls[0]!
    expect(body.tools.read).toMatchObject({
      description: 'Reads',
      inputSchema: { jsonSchema: { type: 'object', properties: {} } },
    })
    expect(body.toolChoice).toBe('auto')
    expect(body.messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: 'call_1', toolName: 'read', input: { path: 'a' } }],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'call_1',
            toolName: 'read',
            output: { type: 'content', value: [{ type: 'text', text: 'ok' }] },
          },
        ],
      },
    ])
    expect(message).toMatchObject({
      content: [
        { type: 'text', text: 'So:' },
        { type: 'tool_use', id: 'call_2', name: 'read', input: { path: 'b' } },
      ],
      stopReason: 'toolUse',
    })
  })

  it('reports metadata and unsupported settings, of which providers warn, as omitted', async () => {
    const warnings = [
      { type: 'unsupported', feature: 'temperature' },
      { type: 'other', message: 'x' },
    ]
    const { create } = scripted({ ...answer, warnings, finishReason: 'length' })
    const message = await aiSdk(create, large).generate(request({ temperature: 2, metadata: { topic: 'x' } }))
    expect(message.omitted).toEqual(['metadata.topic', 'temperature'])
    expect(message.stopReason).toBe('maxTokens')
  })

  it('uses the model object that the chosen name stands for', async () => {
    const { calls, create } = scripted(answer)
    const model = aiSdk(create, ['vendor/small-1', { model: large, name: 'clever', cost: 1 }])
    expect(model.choices).toEqual([{ name: 'vendor/small-1' }, { name: 'clever', cost: 1 }])
    await model.generate({ ...request(), model: 'clever' })
    await model.generate({ ...request(), model: 'vendor/small-1' })
    expect(calls.map(({ body }) => body.model)).toEqual([large, 'vendor/small-1'])
    expect(() => aiSdk(create, [])).toThrow(TypeError)
  })

  it('names the status of an error, and never the key', async () => {
    const { status: statusCode, message } = apiError(400, `Bad request with ${key}`) as Error & { status: number }
    const { create } = scripted(Object.assign(new Error(message), { statusCode, requestBodyValues: { key } }))
    const error = (await errorOf(aiSdk(create, large).generate(request()))) as Error
    expect(error).toMatchObject({ code: 'http', status: 400 })
    expect(error.message).toBe('The AI SDK answered with status 400: Bad request with [removed]')
  })

  it('rejects generated files, which sampling does not support', async () => {
    const { create } = scripted({ ...answer, files: [{ mediaType: 'image/png' }] })
    await expect(aiSdk(create, large).generate(request())).rejects.toMatchObject({ code: 'invalid-response' })
  })
})
