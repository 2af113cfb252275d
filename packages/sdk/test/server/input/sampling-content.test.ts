import {
  type CreateMessageParams,
  type CreateMessageResult,
  ErrorCode,
  PeerError,
  type SamplingContent,
  type ToolResultContent,
} from 'tenon'
import { describe, expect } from 'vitest'
import {
  answer,
  ask,
  assistant,
  audio,
  beforeTools,
  createMessage,
  image,
  outcome,
  sampling,
  server,
  text,
  use,
  user,
  weather,
} from './sampling-support.ts'
import { everyAsking, everyPage } from './support.ts'
import { answersIn, modern, questionsIn } from './wire.ts'

describe('the content of sampling messages', () => {
  const conversation = [
    user([text('What is this?'), image]),
    assistant(text('A cat')),
    user([text('And this?'), audio]),
    user(audio),
  ]

  everyAsking(
    'is one text, image or audio block before 2025-11-25; audio becomes text on 2024-11-05 [SAMP-007, SAMP-008]',
    async (wire) => {
      const isOldest = wire.revision.id === '2024-11-05'
      await using pair = await wire.connect(
        server((ctx) => ctx.sample(ask({ messages: conversation }))),
        sampling(),
      )
      await pair.client.callTool('ask')
      const heard = isOldest ? text('[audio, audio/wav]') : audio
      expect(questionsIn(pair.transcript, createMessage)[0]!.messages).toEqual([
        user(text('What is this?')),
        user(image),
        assistant(text('A cat')),
        user(text('And this?')),
        user(heard),
        user(heard),
      ])
    },
    { revisions: beforeTools },
  )

  everyAsking(
    'is one block in results before 2025-11-25, never a list [SAMP-007, SAMP-008, SAMP-010]',
    async (wire) => {
      const answers: CreateMessageResult['content'][] = [text('One'), [text('One'), text('Two')], [image], audio]
      const seen: unknown[] = []
      await using pair = await wire.connect(
        server(async (ctx) => {
          for (const _ of answers) seen.push((await ctx.sample(ask())).content)
        }),
        sampling(() => answer(answers[seen.length])),
      )
      await pair.client.callTool('ask')
      const wanted = [
        text('One'),
        text('One\n\nTwo'),
        image,
        wire.revision.id === '2024-11-05' ? text('[audio, audio/wav]') : audio,
      ]
      expect(seen).toEqual(wanted)
      expect(answersIn(pair.transcript).map(({ content }) => content)).toEqual(wanted)
    },
    { revisions: beforeTools },
  )

  everyAsking(
    'cannot include several blocks with an image in a result before 2025-11-25: the server gets an error [SAMP-010]',
    async (wire) => {
      const caught: unknown[] = []
      await using pair = await wire.connect(
        server((ctx) => ctx.sample(ask()).catch((error) => caught.push(error))),
        sampling(() => answer([text('Look'), image])),
      )
      const failures: unknown[] = []
      pair.client.on('error', ({ error }) => failures.push(error))
      await pair.client.callTool('ask')
      expect(caught).toEqual([expect.any(PeerError)])
      expect(caught[0]).toMatchObject({ rpcCode: ErrorCode.InternalError })
      expect(failures).toEqual([expect.any(TypeError)])
      expect(answersIn(pair.transcript)).toEqual([])
    },
    { revisions: beforeTools },
  )

  everyAsking(
    'cannot include tool_use and tool_result before 2025-11-25: the handler gets a TypeError [SAMP-007, SAMP-008]',
    async (wire) => {
      const caught: unknown[] = []
      const messages = [user(text('Weather?')), assistant(use('1')), user(outcome('1'))]
      await using pair = await wire.connect(
        server((ctx) => ctx.sample(ask({ messages })).catch((error) => caught.push(error))),
        sampling(),
      )
      await pair.client.callTool('ask')
      expect(caught).toEqual([expect.any(TypeError)])
      expect(questionsIn(pair.transcript, createMessage)).toEqual([])
    },
    { revisions: beforeTools },
  )

  everyPage('is a block or a list of blocks of any type since 2025-11-25 [SAMP-009]', async (wire) => {
    const messages = [
      ...conversation,
      assistant([text('Let me see'), use('Bern'), use('Oslo')]),
      user([outcome('Oslo'), outcome('Bern')]),
      assistant(use('Rome')),
      user(outcome('Rome')),
    ]
    const content: SamplingContent[] = [text('Here'), image, audio, use('Paris')]
    const seen: unknown[] = []
    await using pair = await wire.connect(
      server(async (ctx) => ctx.sample(ask({ messages, tools: [weather] }))),
      sampling((params) => {
        seen.push(params.messages)
        return answer(content)
      }),
    )
    const result = JSON.parse((await pair.client.callTool('ask')).text)
    expect(result.content).toEqual(content)
    expect(result.text).toBe('Here')
    expect(seen).toEqual([messages])
    expect(questionsIn(pair.transcript, createMessage)[0]!.messages).toEqual(messages)
    expect(answersIn(pair.transcript)[0]!.content).toEqual(content)
  })

  everyPage('keeps its _meta, and the _meta of messages, tool results and tool uses [SAMP-026]', async (wire) => {
    const _meta = (id: number) => ({ 'example.com/cache': { id } })
    const seen: CreateMessageParams[] = []
    await using pair = await wire.connect(
      server(async (ctx) => {
        const first = await ctx.sample(ask({ messages: [{ ...user(text('x')), _meta: _meta(1) }], tools: [weather] }))
        const messages = [
          { ...user({ ...text('x'), _meta: _meta(2) }), _meta: _meta(1) },
          { role: first.role, content: first.content },
          user([{ ...outcome('1'), _meta: _meta(3) }]),
        ]
        const last = await ctx.sample(ask({ messages, tools: [weather] }))
        return [first, last]
      }),
      sampling((params) => {
        seen.push(params)
        return seen.length === 1
          ? answer({ ...use('1'), _meta: _meta(4) }, { _meta: _meta(5) })
          : answer({ ...text('Rain'), _meta: _meta(6) })
      }),
    )
    const [first, last] = JSON.parse((await pair.client.callTool('ask')).text)
    expect(first).toMatchObject({ _meta: _meta(5), content: { _meta: _meta(4) } })
    expect(last.content._meta).toEqual(_meta(6))
    expect(seen[0]!.messages[0]!._meta).toEqual(_meta(1))
    expect(seen[1]!.messages).toMatchObject([
      { _meta: _meta(1), content: { _meta: _meta(2) } },
      { content: { type: 'tool_use', id: '1', _meta: _meta(4) } },
      { content: [{ type: 'tool_result', toolUseId: '1', _meta: _meta(3) }] },
    ])
  })

  everyPage('has structured content in the form of the revision [SAMP-009]', async (wire) => {
    const numbers = { ...outcome('1'), structuredContent: [1, 2] }
    const messages = [user(text('x')), assistant(use('1')), user(numbers)]
    await using pair = await wire.connect(
      server((ctx) => ctx.sample(ask({ messages, tools: [weather] }))),
      sampling(),
    )
    expect((await pair.client.callTool('ask')).isError).toBeFalsy()
    const [asked] = questionsIn(pair.transcript, createMessage)
    const sent = (asked!.messages as { content: ToolResultContent }[])[2]!.content
    // Up to 2025-11-25, structured content has to be an object.
    const wrapped = { ...outcome('1'), structuredContent: { result: [1, 2] } }
    expect(sent).toEqual(wire.revision.id === modern ? numbers : wrapped)
  })
})
