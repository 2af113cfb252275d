import { describe, expect, it } from 'vitest'
import type { Layout } from '../../client/terminal/layout.ts'
import type { ActionServer, HostAction } from '../action.ts'
import { summaryOf, viewRequest } from './action-view.ts'
import { isEditable, toEditableText, withEdited } from './sampling-text.ts'

const same = (text: string) => text
const paint = { strong: same, faint: same, warning: (text: string) => `[${text}]` }
const layout = { width: 60, paint } as unknown as Layout
const server: ActionServer = { id: 'files', trust: 'untrusted', address: 'node files.js' }

function view(action: Record<string, unknown>, findings: unknown[] = []): string {
  const request = { action: { server, ...action }, reason: 'because', findings }
  return viewRequest(request as never, layout).join('\n')
}

describe('what the user sees before approving [HOST-004]', () => {
  it('names the kind of action in its heading and in the question', () => {
    const titles: [Record<string, unknown>, string, string][] = [
      [{ kind: 'connect', target: 'node a.js', env: [] }, 'Connect to a new server', 'Connect to files?'],
      [
        { kind: 'definitions', changes: [], isFirstUse: true },
        'Use the definitions of a new',
        'Use these definitions of files?',
      ],
      [
        { kind: 'definitions', changes: [], isFirstUse: false },
        'The definitions of a server changed',
        'Use these definitions',
      ],
      [
        { kind: 'tool', tool: { name: 'read' }, name: 'files_read', arguments: {}, flows: [] },
        'Call a tool',
        'Call read on files?',
      ],
      [{ kind: 'resource', uri: 'x://a' }, 'Read a resource', 'Read this resource of files?'],
      [{ kind: 'prompt', prompt: 'review', arguments: {} }, 'Get a prompt', 'Get review from files?'],
      [{ kind: 'roots', roots: [] }, 'Show folders to a server', 'Show these folders to files?'],
      [{ kind: 'sampling', request: { messages: [] } }, 'A server wants to use the model', 'Let files use the model?'],
      [
        { kind: 'sampling-result', result: { model: 'm', role: 'assistant', content: [] } },
        'Send a message of the model to a server',
        'Send this message of the model to files?',
      ],
      [{ kind: 'elicitation', request: { message: 'Hi' } }, 'A server wants to ask you', 'Let files ask you?'],
      [
        { kind: 'result', of: 'tool', name: 'read', result: {} },
        'A result looks suspicious',
        'Use this result of files?',
      ],
    ]
    for (const [action, title, question] of titles) {
      expect(view(action)).toContain(`── ${title}`)
      expect(summaryOf({ server, ...action } as HostAction)).toContain(question)
    }
  })

  it('shortens long names in the question, without a broken character', () => {
    const ask = (id: string) => summaryOf({ kind: 'resource', server: { ...server, id }, uri: 'x' })
    expect(ask('x'.repeat(24))).toBe(`Read this resource of ${'x'.repeat(24)}?`)
    expect(ask('x'.repeat(25))).toBe(`Read this resource of ${'x'.repeat(23)}…?`)
    expect(ask(`${'x'.repeat(22)}😀xx`)).toBe(`Read this resource of ${'x'.repeat(22)}…?`)
  })

  it('shows the complete command or URL, what was approved before, and names of variables', () => {
    const command = view({ kind: 'connect', target: 'node a.js', env: ['TOKEN', 'X'] })
    expect(command).toContain('Command line')
    expect(command).toContain('TOKEN, X')
    expect(command).toContain('[! This runs a program, which can do everything that you can do.]')
    expect(command).not.toContain('Approved before')
    expect(command).not.toContain('Address')
    const url = view({ kind: 'connect', target: 'HTTPS://a.example', env: [] })
    expect(url).toContain('URL')
    expect(url).not.toContain('runs a program')
    expect(url).not.toContain('Variables')
    const changed = view({ kind: 'connect', target: 'node b.js', env: [], before: 'node a.js' })
    expect(changed).toMatch(
      /The command or URL of a server changed[\s\S]*Approved before[\s\S]*node a\.js[\s\S]*Now[\s\S]*node b\.js/,
    )
    const again = view({ kind: 'connect', target: 'node a.js', env: [], before: 'node a.js' })
    expect(again).toContain('A known command needs approval again')
    expect(again).not.toContain('Approved before')
  })

  it('shows results up to 4,000 characters and without secrets, then the findings', () => {
    const secret = 'ghp_R8x2Lq0vT5nW3yZ7bK1mD4pS6hJ9cF0aEgUi'
    const finding = { severity: 'high', where: 'result', message: 'Bad', excerpt: 'evil' }
    const short = view({ kind: 'result', of: 'tool', name: 'read', result: { a: secret } }, [
      finding,
      { ...finding, severity: 'low' },
    ])
    expect(short).toContain('[redacted GitHub token]')
    expect(short).not.toContain(secret)
    expect(short).not.toContain('more characters')
    expect(short).toMatch(/\[! Suspicious\][\s\S]*»evil«[\s\S]*\[! Note\]/)
    expect(short).toContain('Result of tool')
    // As JSON it has two quotes more.
    const whole = view({ kind: 'result', of: 'tool', name: 'read', result: 'x'.repeat(3_998) })
    expect(whole).not.toContain('more characters')
    const long = view({ kind: 'result', of: 'tool', name: 'read', result: 'x'.repeat(4_000) })
    expect(long).toContain('(and 2 more characters)')
  })

  it('shows messages for the model with the kind and size of what is not text', () => {
    const image = { type: 'image', mimeType: 'image/png', data: 'AAAA' }
    const shown = view({
      kind: 'sampling',
      contextFrom: ['mail', 'web'],
      request: {
        systemPrompt: 'Be brief',
        maxTokens: 10,
        messages: [
          { role: 'user', content: { type: 'text', text: 'Hello there' } },
          { role: 'assistant', content: [image, { type: 'text', text: 5 }] },
        ],
      },
    })
    for (const text of [
      'mail, web',
      'Be brief',
      'Message of the user',
      'Hello there',
      'Message of the model',
      '"maxTokens": 10',
    ])
      expect(shown).toContain(text)
    expect(shown).toContain('(4 characters of Base64)')
    expect(shown).not.toContain('AAAA')
    const plain = view({ kind: 'sampling', request: { messages: [] } })
    expect(plain).not.toContain('Context of')
    expect(plain).not.toContain('System prompt')
    const result = { model: 'm', role: 'assistant', content: { type: 'text', text: 'Done' } }
    expect(view({ kind: 'sampling-result', result })).toContain('no reason given')
    expect(view({ kind: 'sampling-result', result: { ...result, stopReason: 'endTurn' } })).toContain('endTurn')
  })

  it('shows data of other servers, folders with their names, and changes of definitions', () => {
    const flows = [{ from: 'mail', path: 'text', excerpt: 'secret plan' }]
    const call = view({ kind: 'tool', tool: { name: 'send' }, name: 'web_send', arguments: { text: 'x' }, flows })
    expect(call).toMatch(/\[! Data of another server\][\s\S]*mail[\s\S]*files, in text[\s\S]*secret plan/)
    const roots = view({ kind: 'roots', roots: [{ uri: 'file:///a', name: 'A' }, { uri: 'file:///b' }] })
    expect(roots).toContain('file:///a (A)')
    expect(roots).not.toContain('file:///b (')
    const changes = [{ kind: 'added', what: 'tool x', details: ['one'] }]
    expect(view({ kind: 'definitions', isFirstUse: true, changes })).toMatch(/\+ added[\s\S]*tool x[\s\S]*one/)
  })
})

describe('a text that the user can edit', () => {
  const request = {
    messages: [
      { role: 'user' as const, content: { type: 'text' as const, text: 'Hello' } },
      {
        role: 'assistant' as const,
        content: [
          { type: 'image' as const, mimeType: 'image/png', data: 'AAAA' },
          { type: 'text' as const, text: 'World' },
        ],
      },
    ],
    systemPrompt: 'Be brief',
    maxTokens: 10,
  }
  const sampling = { kind: 'sampling', server, request } as never
  const edit = (change: (text: string) => string) => {
    const editable = toEditableText(sampling)
    return editable.read(change(editable.text))
  }

  it('is read as it was if nothing changed, also with line breaks of Windows', () => {
    expect(edit((text) => text)).toEqual(request)
    expect(edit((text) => text.replaceAll('\n', '\r\n'))).toEqual(request)
  })

  it('leaves out what the user removed, and keeps blocks that are not text', () => {
    expect(edit((text) => text.replace('Hello', ''))).toEqual({ ...request, messages: request.messages.slice(1) })
    expect(edit((text) => text.replace('World', ''))).toMatchObject({
      messages: [{}, { content: [{ type: 'image' }] }],
    })
    expect(edit((text) => text.replace('Be brief', ''))).not.toHaveProperty('systemPrompt')
    expect(edit((text) => text.replace('\n10\n', '\n20\n'))).toMatchObject({ maxTokens: 20 })
    expect(edit((text) => text.replace(/\n>>>> \w+ maxTokens\n10\n/, ''))).toMatchObject({ maxTokens: 10 })
  })

  it('is refused if nothing is left, or a heading or the number is wrong', () => {
    for (const wrong of ['0', '1.5', 'x'])
      expect(() => edit((text) => text.replace('\n10\n', `\n${wrong}\n`))).toThrow('maxTokens must be a whole number')
    expect(() => edit((text) => text.replace('message 1, user', 'message 9, user'))).toThrow('was changed')
    expect(() => edit((text) => text + text.slice(text.indexOf('\n>>>>')))).toThrow('was changed')
    const one = { kind: 'sampling', server, request: { ...request, messages: request.messages.slice(0, 1) } } as never
    const editable = toEditableText(one)
    expect(() => editable.read(editable.text.replace('Hello', ''))).toThrow('There is no message left')
  })

  it('can be the answer of the model, but not an empty one', () => {
    const result = { model: 'm', role: 'assistant' as const, content: { type: 'text' as const, text: 'Done' } }
    const action = { kind: 'sampling-result', server, request, result } as never
    const editable = toEditableText(action)
    const edited = editable.read(editable.text.replace('Done', 'Better'))
    expect(edited).toEqual({ ...result, content: { type: 'text', text: 'Better' } })
    expect(() => editable.read(editable.text.replace('Done', ''))).toThrow('There is nothing left of the answer.')
    expect(withEdited(action, edited)).toMatchObject({ result: edited, request })
    expect(withEdited(sampling, edited)).toMatchObject({ request: edited })
    expect([isEditable(action), isEditable(sampling), isEditable({ kind: 'tool' } as never)]).toEqual([
      true,
      true,
      false,
    ])
  })
})
