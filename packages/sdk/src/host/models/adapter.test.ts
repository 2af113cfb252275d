import { expect, it } from 'vitest'
import { cutAtStop } from './adapter.ts'

const text = (value: string) => ({ type: 'text' as const, text: value })
const use = { type: 'tool_use' as const, id: '1', name: 'read', input: {} }
const cut = (stopSequences: string[] | undefined, ...content: (ReturnType<typeof text> | typeof use)[]) =>
  cutAtStop(content, { messages: [], maxTokens: 1, ...(stopSequences && { stopSequences }) })

it('ends a text at the first of the stop sequences, and drops what follows', () => {
  const content = [text('one '), use, text('two three four'), text('five')]
  expect(cut(['four', 'three'], ...content)).toEqual([text('one '), use, text('two ')])
  expect(cut(['one'], ...content)).toEqual([text('')])
})

it('leaves a text without a stop sequence alone', () => {
  expect(cut(['', 'six'], text('one'))).toBeUndefined()
  expect(cut(undefined, text('one'))).toBeUndefined()
  expect(cut(['1'], use)).toBeUndefined()
})
