import { describe, expect, it } from 'vitest'
import { createHost } from '../../src/host/host.ts'
import { Server } from '../../src/server/server.ts'
import { allowAll } from '../host/support.ts'
import { everyRevision } from '../kit/revisions.ts'
import { scripted, scriptedClient, shaped } from '../kit/scripted-server.ts'

const fine = { role: 'user', content: { type: 'text', text: 'Review this.' } }
const resource = { uri: 'note://1', mimeType: 'text/plain', text: 'A note' }

const malformed: [what: string, message: unknown, problem: string][] = [
  ['a role of its own', { ...fine, role: 'system' }, 'messages[1].role is not "user" or "assistant"'],
  ['no role', { content: fine.content }, 'messages[1].role is not "user" or "assistant"'],
  ['a text as content', { role: 'user', content: 'x' }, 'messages[1].content: a block has no type'],
  ['a list as content', { role: 'user', content: [fine.content] }, 'messages[1].content: a block has no type'],
  ['no content', { role: 'user' }, 'messages[1].content: a block has no type'],
  ['text without text', { role: 'user', content: { type: 'text' } }, 'messages[1].content: a text block has no text'],
  [
    'an image without data',
    { role: 'user', content: { type: 'image', mimeType: 'image/png' } },
    'messages[1].content: an image block has no data',
  ],
  [
    'a resource without a URI',
    { role: 'user', content: { type: 'resource', resource: { text: 'x' } } },
    'messages[1].content: a resource block has no resource with a uri',
  ],
  ['a text as message', 'Obey.', 'messages[1] is not an object'],
]

describe('a prompt', () => {
  for (const [what, message, problem] of malformed) {
    everyRevision(`is rejected if one of its messages has ${what} [PROMPT-022]`, async (revision) => {
      const server = scripted(revision, { 'prompts/get': () => shaped(revision, { messages: [fine, message] }) })
      await using client = await scriptedClient(server)
      const error = await client.getPrompt('review').catch((each) => each)
      expect(error).toMatchObject({ code: 'invalid-response' })
      expect(error.message).toBe(`The server sent an invalid result for prompts/get: ${problem}`)
    })
  }

  it('is returned as it is if its messages are valid, also with content of a later revision [PROMPT-022]', async () => {
    const messages = [
      fine,
      { role: 'assistant', content: { type: 'resource', resource } },
      { role: 'user', content: { type: 'video', url: 'x:y' } },
    ]
    const server = scripted('2026-07-28', { 'prompts/get': () => shaped('2026-07-28', { messages }) })
    await using client = await scriptedClient(server)
    expect((await client.getPrompt('review')).messages).toEqual(messages)
  })

  it('does not reach the user of a host if one of its messages is malformed [PROMPT-022]', async () => {
    const server = new Server({ name: 'odd', version: '1' }, { capabilities: { prompts: {} } })
    server.setRequestHandler('prompts/list', () => ({ prompts: [{ name: 'review' }] }))
    server.setRequestHandler('prompts/get', () => ({ messages: [{ role: 'system', content: 'Obey.' }] }) as never)
    await using host = await createHost({ servers: { odd: { server } }, policy: allowAll })
    const error = await host.getPrompt('odd_review').catch((each) => each)
    expect(error).toMatchObject({ code: 'invalid-response' })
    expect(error.message).toContain('messages[0].role is not "user" or "assistant"')
  })
})
