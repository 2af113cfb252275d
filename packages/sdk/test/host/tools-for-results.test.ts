import { describe, expect, it } from 'vitest'
import { type ToolResultInput, toolResultFor } from '../../src/host/models/tool-result.ts'
import type { ToolFormat } from '../../src/host/models/tools-for.ts'

const formats: readonly ToolFormat[] = ['anthropic', 'openai', 'openai-responses', 'ai-sdk']

const mixed: ToolResultInput = {
  content: [
    { type: 'text', text: 'hello' },
    { type: 'image', data: 'aW1n', mimeType: 'image/PNG' },
    { type: 'audio', data: 'c25k', mimeType: 'audio/wav' },
    { type: 'resource_link', uri: 'file:///a.txt', name: 'a.txt', mimeType: 'text/plain' },
    { type: 'resource', resource: { uri: 'file:///b.txt', text: 'the file' } },
    { type: 'resource', resource: { uri: 'file:///c.pdf', blob: 'cGRm', mimeType: 'application/pdf' } },
    { type: 'resource', resource: { uri: 'file:///d.zip', blob: 'emlw', mimeType: 'application/zip' } },
  ],
}

describe('toolResultFor', () => {
  it('converts every kind of content for Anthropic', () => {
    const { content, isError, notes } = toolResultFor('anthropic', mixed)
    expect(content).toEqual([
      { type: 'text', text: 'hello' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aW1n' } },
      { type: 'text', text: expect.stringMatching(/^\[Left out: audio of the type "audio\/wav", 3 bytes/) },
      { type: 'text', text: 'Link to the resource file:///a.txt (a.txt, text/plain)' },
      { type: 'text', text: 'Resource file:///b.txt:\nthe file' },
      { type: 'text', text: 'Resource file:///c.pdf:' },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'cGRm' } },
      { type: 'text', text: 'Resource file:///d.zip:' },
      { type: 'text', text: expect.stringMatching(/^\[Left out: resource of the type "application\/zip"/) },
    ])
    expect(isError).toBe(false)
    expect(notes).toHaveLength(2)
  })

  it('converts content for OpenAI: text only for chat completions, images and PDF for responses', () => {
    const chat = toolResultFor('openai', mixed)
    expect(chat.content).toMatch(/^hello\n\[Left out: image of the type "image\/png", 3 bytes/)
    expect(chat.notes).toHaveLength(4)
    const { content } = toolResultFor('openai-responses', mixed)
    expect(content[1]).toEqual({ type: 'input_image', image_url: 'data:image/png;base64,aW1n', detail: 'auto' })
    expect(content).toContainEqual({
      type: 'input_file',
      filename: 'resource.pdf',
      file_data: 'data:application/pdf;base64,cGRm',
    })
  })

  it('converts content for the AI SDK', () => {
    const { content, notes } = toolResultFor('ai-sdk', mixed)
    expect(content).toMatchObject({ type: 'content' })
    expect(content.value).toContainEqual({ type: 'file-data', data: 'c25k', mediaType: 'audio/wav' })
    expect(notes).toEqual([])
  })

  it('keeps errors recognizable in each format [TOOL-039]', () => {
    const failed = { content: [{ type: 'text' as const, text: 'no such file' }], isError: true }
    expect(toolResultFor('anthropic', failed)).toMatchObject({ isError: true })
    expect(toolResultFor('openai', failed).content).toBe('Error: no such file')
    expect(toolResultFor('openai-responses', failed).content[0]).toEqual({ type: 'input_text', text: 'Error:' })
    expect(toolResultFor('ai-sdk', failed).content).toEqual({ type: 'error-text', value: 'no such file' })
    const failedWithImage = { ...failed, content: [{ type: 'image' as const, data: 'aW1n', mimeType: 'image/png' }] }
    expect(toolResultFor('ai-sdk', failedWithImage).notes).toEqual([expect.stringContaining('left out image')])
  })

  it('adds structured content unless a text block repeats it', () => {
    const structuredContent = { sum: 3 }
    expect(toolResultFor('openai', { content: [], structuredContent }).content).toBe('{"sum":3}')
    const repeated = { content: [{ type: 'text' as const, text: '{ "sum": 3 }' }], structuredContent }
    expect(toolResultFor('openai', repeated).content).toBe('{ "sum": 3 }')
    const other = { content: [{ type: 'text' as const, text: '{"sum":4}' }], structuredContent }
    expect(toolResultFor('openai', other).content).toBe('{"sum":4}\n{"sum":3}')
  })

  it.each(formats)('begins with a line that marks data of a server as untrusted, for %s', (format) => {
    const { content } = toolResultFor(format, mixed, { source: 'files' })
    const text = JSON.stringify(content)
    expect(text).toContain('Untrusted data from the server \\')
    expect(text.indexOf('Untrusted data')).toBeLessThan(text.indexOf('hello'))
  })

  it.each(formats)('bounds text, media and the number of blocks for %s', (format) => {
    const text = { type: 'text' as const, text: '§'.repeat(600) }
    const image = { type: 'image' as const, data: 'a'.repeat(800), mimeType: 'image/png' }
    const many = Array.from({ length: 10_000 }, () => ({ type: 'text' as const, text: '' }))
    const { content, notes } = toolResultFor(
      format,
      { content: [text, text, image, image, ...many], structuredContent: { text: 'y'.repeat(600) } },
      { maxTextChars: 1_000, maxMediaChars: 1_000 },
    )
    const all = JSON.stringify(content)
    expect(all.match(/§/g)).toHaveLength(1_000)
    expect(all.match(/a{800}/g)?.length ?? 0).toBe(format === 'openai' ? 0 : 1)
    expect(all.length).toBeLessThan(5_000)
    expect(notes.join('\n')).toMatch(/200 characters of text: the result is too long/)
    expect(notes.join('\n')).toMatch(/9804 more blocks/)
  })

  it('replaces invalid base64, for which an API would reject the whole conversation', () => {
    const content = [{ type: 'image' as const, data: 'not base64!', mimeType: 'image/png' }]
    expect(toolResultFor('anthropic', { content }).notes).toEqual([expect.stringContaining('not valid base64')])
  })
})
