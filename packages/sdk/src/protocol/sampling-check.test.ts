import { describe, expect, it } from 'vitest'
import type {
  CreateMessageParams,
  CreateMessageResult,
  SamplingContent,
  SamplingMessage,
  ToolResultContent,
  ToolUseContent,
} from './sampling.ts'
import { sampledProblem, samplingProblem, singleContent, splitMessages } from './sampling-check.ts'
import type { Tool } from './tools.ts'

const text = (text: string): SamplingContent => ({ type: 'text', text })
const image: SamplingContent = { type: 'image', data: 'AAAA', mimeType: 'image/png' }
const audio: SamplingContent = { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }
const use = (id: string, name = 'add'): ToolUseContent => ({ type: 'tool_use', id, name, input: {} })
const result = (toolUseId: string): ToolResultContent => ({ type: 'tool_result', toolUseId, content: [] })
const user = (...content: SamplingContent[]): SamplingMessage => ({ role: 'user', content })
const assistant = (...content: SamplingContent[]): SamplingMessage => ({ role: 'assistant', content })
const tool = (name: string): Tool => ({ name, inputSchema: { type: 'object' } })
const ask = (messages: unknown, more: object = {}): CreateMessageParams =>
  ({ messages, maxTokens: 100, ...more }) as CreateMessageParams
const answer = (content: unknown, more: object = {}): CreateMessageResult =>
  ({ role: 'assistant', content, model: 'm', ...more }) as CreateMessageResult

describe('sampling request validation', () => {
  it('accepts content of every type, as one block or as a list', () => {
    const messages = [
      { role: 'user', content: text('Hello') },
      assistant(text('Hi'), image, audio),
      user(text('Add')),
      assistant(text('I will'), use('1'), use('2')),
      user(result('2'), result('1')),
      assistant(use('1')),
      { role: 'user', content: result('1') },
    ]
    const more = {
      modelPreferences: { hints: [{ name: 'x' }, {}], costPriority: 0, speedPriority: 1 },
      tools: [tool('add'), tool('sub')],
      toolChoice: { mode: 'required' },
    }
    expect(samplingProblem(ask(messages, more))).toBe(undefined)
    expect(samplingProblem(ask([]))).toBe(undefined)
  })

  it.each([
    [ask(undefined), 'params.messages must be an array, got nothing'],
    [ask([{ role: 'system', content: text('x') }]), 'params.messages[0].role must be "user" or "assistant"'],
    [ask([user()]), 'params.messages[0].content must not be empty'],
    [ask([user({ type: 'video' } as never)]), 'params.messages[0].content[0].type must be one of text, image, audio'],
    [ask([{ role: 'user', content: { type: 'text' } }]), 'params.messages[0].content.text must be a string'],
    [ask([user({ type: 'image', data: 'AAAA' } as never)]), 'params.messages[0].content[0].mimeType must be a string'],
    [
      ask([user({ type: 'audio' } as never)]),
      'params.messages[0].content[0].data must be a base64 string, not undefined',
    ],
    [ask([assistant({ type: 'tool_use', id: '1', name: 'a' } as never)]), 'content[0].input must be an object'],
    [
      ask([assistant(use('1')), user({ ...result('1'), content: 'x' } as never)]),
      'content[0].content must be an array',
    ],
    [ask([], { maxTokens: 0 }), 'params.maxTokens must be a positive integer'],
    [ask([], { maxTokens: 1.5 }), 'params.maxTokens must be a positive integer'],
    [ask([], { maxTokens: undefined }), 'params.maxTokens must be a finite number'],
    [ask([], { modelPreferences: { speedPriority: 1.1 } }), 'params.modelPreferences.speedPriority must be a number'],
    [ask([], { modelPreferences: { costPriority: '1' } }), 'params.modelPreferences.costPriority must be a number'],
    [
      ask([], { modelPreferences: { intelligencePriority: -1 } }),
      'intelligencePriority must be a number between 0 and 1',
    ],
    [ask([], { modelPreferences: { hints: ['x'] } }), 'params.modelPreferences.hints must be an array of objects'],
    [ask([], { tools: [tool('a'), tool('a')] }), 'params.tools[1] has the same name as another tool'],
    [ask([], { tools: [{ name: 'a' }] }), 'params.tools[0] must be a tool with a name and an inputSchema'],
    [ask([], { toolChoice: { mode: 'any' } }), 'params.toolChoice.mode must be "auto", "required" or "none"'],
    [ask([], { toolChoice: { mode: 'required' } }), 'params.toolChoice requires a tool, but params.tools is empty'],
  ])('reports what is wrong with a sampling request, case %#', (params, problem) => {
    expect(samplingProblem(params)).toContain(problem)
  })

  it.each([
    ['mixes results with other content', [assistant(use('1')), user(result('1'), text('x'))], '[1] mixes tool_result'],
    ['has a use without a result', [assistant(use('1'), use('2')), user(result('1'))], '[0] has a tool_use without'],
    ['ends with a tool use', [user(text('x')), assistant(use('1'))], '[1] has a tool_use without a tool_result'],
    [
      'puts another message before the result',
      [assistant(use('1')), user(text('x')), user(result('1'))],
      '[0] has a tool',
    ],
    [
      'has a result without a tool use',
      [user(result('1'))],
      '[0] has a tool_result without a tool_use in the message before it',
    ],
    [
      'has one result too many',
      [assistant(use('1')), user(result('1'), result('2'))],
      '[1] has a tool_result without a tool_use',
    ],
    [
      'answers a tool use twice',
      [assistant(use('1')), user(result('1'), result('1'))],
      '[1].content[1] has the id of another',
    ],
    [
      'has two tool uses with the same id',
      [assistant(use('1'), use('1')), user(result('1'))],
      '[0].content[1] has the id of another',
    ],
    ['has a tool use in a user message', [user(use('1'))], '[0].content[0]: only the assistant uses tools'],
    [
      'has a tool result in an assistant message',
      [assistant(result('1'))],
      '[0].content[0]: only the user gives results of tools',
    ],
  ])('refuses a sampling request that %s', (_, messages, problem) => {
    expect(samplingProblem(ask(messages))).toContain(`params.messages${problem}`)
  })
})

describe('sampling result validation', () => {
  const plain = ask([user(text('x'))])
  const withTools = (mode?: string) => ask([], { tools: [tool('add')], ...(mode && { toolChoice: { mode } }) })

  it('accepts the results that models return', () => {
    expect(sampledProblem(answer(text('x'), { stopReason: 'whatever' }), plain)).toBe(undefined)
    expect(sampledProblem(answer([text('x'), image, audio]), plain)).toBe(undefined)
    expect(sampledProblem(answer([]), plain)).toBe(undefined)
    expect(sampledProblem(answer([use('1'), use('2')]), withTools())).toBe(undefined)
    expect(sampledProblem(answer(use('1')), withTools('required'))).toBe(undefined)
    expect(sampledProblem(answer(text('x')), withTools('none'))).toBe(undefined)
  })

  it.each([
    [undefined, plain, 'the result must be an object'],
    [answer(text('x'), { role: 'system' }), plain, 'role must be "user" or "assistant"'],
    [answer(text('x'), { model: undefined }), plain, 'model must be a string'],
    [answer(text('x'), { stopReason: 1 }), plain, 'stopReason must be a string'],
    [answer(undefined), plain, 'content must be a content block'],
    [answer('x'), plain, 'content must be a content block'],
    [answer([null]), plain, 'content[0] must be a content block'],
    [answer({ type: 'text' }), plain, 'content.text must be a string'],
    [answer(result('1')), plain, 'content: only the user gives results of tools'],
    [answer(result('1'), { role: 'user' }), plain, 'content has a tool_result, which models do not return'],
    [answer(use('1')), plain, 'content uses a tool, but tools are not allowed'],
    [answer(use('1')), withTools('none'), 'content uses a tool, but tools are not allowed'],
    [answer(text('x')), withTools('required'), 'content must use a tool, because toolChoice requires it'],
    [answer(use('1', 'sub')), withTools(), 'content uses a tool that was not offered'],
    [answer([use('1'), use('1')]), withTools(), 'content[1] has the id of another tool_use in the same message'],
    [answer(use('1'), { role: 'user' }), withTools(), 'content: only the assistant uses tools'],
  ])('reports what is wrong with a sampling result, case %#', (given, params, problem) => {
    expect(sampledProblem(given as CreateMessageResult, params)).toBe(problem)
  })
})

describe('sampling for peers of 2025-06-18 and earlier', () => {
  it('splits a message of several blocks into several messages of the same role', () => {
    const messages: SamplingMessage[] = [
      { role: 'user', content: [text('a'), image], _meta: { 'a.b/c': 1 } },
      { role: 'assistant', content: [text('b')] },
      { role: 'user', content: text('c'), _meta: {} },
    ]
    expect(splitMessages(messages)).toEqual([
      { role: 'user', content: text('a') },
      { role: 'user', content: image },
      { role: 'assistant', content: text('b') },
      { role: 'user', content: text('c') },
    ])
  })

  it('reduces an answer to one block, or joins its text blocks', () => {
    expect(singleContent(image)).toBe(image)
    expect(singleContent([image])).toBe(image)
    expect(singleContent([text('a'), text('b')])).toEqual(text('a\n\nb'))
  })

  it('refuses an answer that does not fit into one block', () => {
    expect(() => singleContent([text('a'), image])).toThrow(TypeError)
    expect(() => singleContent([text('a'), image])).toThrow(
      'accepts one content block, or several text blocks. Got: text, image',
    )
    expect(() => singleContent([])).toThrow('Got: nothing')
  })

  it('refuses tools', () => {
    expect(() => singleContent(use('1'))).toThrow('Content of type tool_use requires 2025-11-25 or later')
    expect(() => splitMessages([user(result('1'))])).toThrow('Content of type tool_result requires 2025-11-25')
  })
})
