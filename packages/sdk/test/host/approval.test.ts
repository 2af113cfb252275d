import { PassThrough } from 'node:stream'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { ActionServer, ApprovalRequest, Approve, HostAction, ToolAction } from '../../src/host/action.ts'
import { type TerminalApprovalOptions, terminalApproval } from '../../src/host/terminal/terminal-approval.ts'

const files: ActionServer = { id: 'files', trust: 'untrusted', address: 'node files.js --root /srv' }

const write: ToolAction = {
  kind: 'tool',
  server: files,
  tool: { name: 'write_file', inputSchema: { type: 'object' } },
  name: 'files_write_file',
  arguments: { path: '/srv/a.txt', text: 'Hello' },
  flows: [],
}

function requestFor(action: HostAction, other: Partial<ApprovalRequest> = {}): ApprovalRequest {
  return {
    action,
    reason: 'No rule of the policy decides.',
    findings: [],
    digest: 'd',
    choices: ['once', 'session', 'always'],
    signal: new AbortController().signal,
    ...other,
  }
}

const prompt = '[D]eny > '

interface PersonOptions {
  isTerminal?: boolean
  columns?: number
  color?: boolean
  editText?: TerminalApprovalOptions['editText']
}

/** A person in front of a terminal, who reads a question before answering it. */
class Person {
  readonly input = new PassThrough()
  readonly output = new PassThrough()
  readonly approve: Approve
  #shown = ''

  constructor({ isTerminal = true, columns = 80, color = false, editText }: PersonOptions = {}) {
    this.approve = terminalApproval({ input: this.input, output: this.output, color, editText })
    // Input that comes at once is not taken for an answer, so the time has to pass between question and answer.
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    if (isTerminal) {
      Object.assign(this.input, { isTTY: true, setRawMode: () => this.input })
      Object.assign(this.output, { isTTY: true, columns })
    }
    this.output.setEncoding('utf8').on('data', (text: string) => {
      this.#shown += text
    })
  }

  get screen(): string {
    return this.#shown
  }

  /** Waits for a number of questions, and returns what is shown up to the last one. */
  async reads(questions = 1): Promise<string> {
    await vi.waitUntil(() => this.#shown.split(prompt).length > questions, { timeout: 30_000, interval: 1 })
    const parts = this.#shown.split(prompt)
    return parts[questions - 1] ?? ''
  }

  async shows(text: string): Promise<void> {
    await vi.waitUntil(() => this.#shown.includes(text), { timeout: 30_000, interval: 1 })
  }

  type(text: string): void {
    vi.setSystemTime(Date.now() + 5_000)
    this.input.write(text)
  }

  /** Shows a question, denies it and returns the lines that were shown. */
  async sees(action: HostAction, other: Partial<ApprovalRequest> = {}): Promise<string[]> {
    const answer = this.approve(requestFor(action, other))
    const shown = await this.reads()
    this.type('\r')
    expect(await answer).toBe('deny')
    // Without the prompt, before which the terminal is told to clear the line.
    return shown.split('\n').slice(0, -1)
  }
}

describe('the answer of the user', () => {
  it.each<[string, string]>([
    ['o', 'once'],
    ['s', 'session'],
    ['a', 'always'],
    ['d', 'deny'],
    ['Always', 'always'],
    ['', 'deny'],
    ['  ', 'deny'],
  ])('"%s" means %s', async (line, expected) => {
    const person = new Person()
    const answer = person.approve(requestFor(write))
    await person.reads()
    person.type(`${line}\r`)
    expect(await answer).toBe(expected)
  })

  it.each([
    ['Ctrl-C', '\u0003'],
    ['Ctrl-D', '\u0004'],
  ])('%s denies a tool call [HOST-003]', async (_, key) => {
    const person = new Person()
    const answer = person.approve(requestFor(write))
    await person.reads()
    person.type(key)
    expect(await answer).toBe('deny')
    await person.shows('Denied.')
  })

  it('is deny if the input ends', async () => {
    const person = new Person()
    const answer = person.approve(requestFor(write))
    await person.reads()
    person.input.end()
    expect(await answer).toBe('deny')
    expect(await person.approve(requestFor(write))).toBe('deny')
  })

  it('for a connection lasts until the program ends, or always', async () => {
    const person = new Person()
    const connect = { kind: 'connect', server: files, target: 'node files.js', env: [], before: undefined } as const
    const answer = person.approve(requestFor(connect, { choices: ['until-close', 'always'] }))
    expect(await person.reads()).toContain('[u]ntil close  [a]lways  ')
    person.type('u\r')
    expect(await answer).toBe('until-close')
    await person.shows('Allowed until this program ends.')
  })

  it('is asked for again if it is not one of the choices', async () => {
    const person = new Person()
    const answer = person.approve(requestFor(write, { choices: ['once'] }))
    expect(await person.reads()).not.toContain('[a]lways')
    person.type('always\r')
    expect(await person.reads(2)).toContain('Type one of the letters, or press Enter to deny.')
    person.type('o\r')
    expect(await answer).toBe('once')
  })

  it('is not what was typed before the question was shown', async () => {
    const person = new Person()
    person.input.write('a\r')
    const answer = person.approve(requestFor(write))
    await person.reads()
    person.type('d\r')
    expect(await answer).toBe('deny')
  })

  it('is deny if the question becomes obsolete, and the next question is asked', async () => {
    const person = new Person()
    const abort = new AbortController()
    const [first, second] = [
      person.approve(requestFor(write, { signal: abort.signal })),
      person.approve(requestFor({ ...write, server: { ...files, id: 'second' } })),
    ]
    await person.reads()
    abort.abort()
    expect(await first).toBe('deny')
    await person.shows('The question is obsolete.')
    expect(await person.reads(2)).toContain('second (untrusted)')
    person.type('o\r')
    expect(await second).toBe('once')
  })

  it('is deny if the question became obsolete before it was shown', async () => {
    const person = new Person()
    expect(await person.approve(requestFor(write, { signal: AbortSignal.abort() }))).toBe('deny')
    expect(person.screen).toBe('')
  })

  it('belongs to the question that is shown: concurrent questions wait', async () => {
    const person = new Person()
    const answers = ['one', 'two', 'three'].map((id) =>
      person.approve(requestFor({ ...write, server: { ...files, id } })),
    )
    for (const [index, key] of ['o', 's', 'd'].entries()) {
      const shown = await person.reads(index + 1)
      expect(['one', 'two', 'three'].filter((id) => shown.includes(`${id} (untrusted)`))).toEqual([
        ['one', 'two', 'three'][index],
      ])
      person.type(`${key}\r`)
    }
    expect(await Promise.all(answers)).toEqual(['once', 'session', 'deny'])
  })

  it('is deny without a terminal, which is explained once [HOST-003]', async () => {
    const person = new Person({ isTerminal: false })
    person.input.write('always\n')
    expect(await person.approve(requestFor(write))).toBe('deny')
    expect(await person.approve(requestFor(write))).toBe('deny')
    await person.shows('no terminal')
    expect(person.screen.match(/there is no terminal to ask on/g)).toHaveLength(1)
  })
})

describe('an input or output that is not a terminal', () => {
  it.each(['input', 'output'] as const)('denies: %s', async (stream) => {
    const person = new Person()
    Object.assign(person[stream], { isTTY: false })
    person.input.write('always\n')
    expect(await person.approve(requestFor(write))).toBe('deny')
    await person.shows('there is no terminal to ask on')
  })
})

describe('a question', () => {
  it('about a tool shows server, trust, reason, tool and all arguments before the call [TOOL-044]', async () => {
    const lines = await new Person().sees({
      ...write,
      arguments: { path: '/srv/a.txt', options: { mode: 'w' }, n: [1] },
    })
    expect(lines.join('\n')).toBe(
      [
        '',
        `── Call a tool ${'─'.repeat(65)}`,
        'Server     files (untrusted)',
        'Address    node files.js --root /srv',
        'Why        No rule of the policy decides.',
        'Tool       write_file',
        'Known as   files_write_file',
        'Arguments',
        '│ {',
        '│   "path": "/srv/a.txt",',
        '│   "options": {',
        '│     "mode": "w"',
        '│   },',
        '│   "n": [',
        '│     1',
        '│   ]',
        '│ }',
        '',
        'Call write_file on files?',
      ].join('\n'),
    )
  })

  it('shows long arguments to their end', async () => {
    const text = Array.from({ length: 20_000 }, (_, index) => `word${index}`).join(' ')
    const lines = await new Person().sees({ ...write, arguments: { text } })
    const shown = lines
      .filter((line) => /^[│┊]/.test(line))
      .map((line) => line.slice(2))
      .join('')
    expect(shown).toContain(`"text": "${text}"`)
  })

  it('shows where data of other servers comes from and goes to', async () => {
    const flows = [{ from: 'mail', path: 'body.text', excerpt: 'Dear Ada' }]
    const text = (await new Person().sees({ ...write, flows })).join('\n')
    expect(text).toContain('! Data of another server\nFrom       mail\nTo         files, in body.text\n│ Dear Ada')
  })

  it('shows findings with the suspicious part marked', async () => {
    const findings: ApprovalRequest['findings'] = [
      {
        rule: 'instructions',
        severity: 'high',
        where: 'tool write_file, description',
        message: 'Addresses the model.',
        excerpt: 'ignore all previous instructions',
      },
    ]
    const text = (await new Person().sees(write, { findings })).join('\n')
    expect(text).toContain('! Suspicious\nWhere      tool write_file, description\nWhat       Addresses the model.')
    expect(text).toContain('│ »ignore all previous instructions«')
  })

  it('marks the suspicious part with a color where there are colors', async () => {
    const person = new Person({ color: true })
    const findings: ApprovalRequest['findings'] = [
      { rule: 'secret', severity: 'high', where: 'argument text', message: 'Looks like a token.', excerpt: 'ghp_1' },
    ]
    expect((await person.sees(write, { findings })).join('\n')).toContain('\u001b[33m»ghp_1«\u001b[0m')
  })

  it('does not mention variables if a command gets none', async () => {
    const action: HostAction = { kind: 'connect', server: files, target: 'node files.js', env: [], before: undefined }
    expect((await new Person().sees(action)).join('\n')).not.toContain('Variables')
  })

  it('shows a complete command line, and the one that was approved before', async () => {
    const target = `npx -y some-server ${Array.from({ length: 60 }, (_, index) => `--option-${index}`).join(' ')} ; rm -rf /`
    const action: HostAction = {
      kind: 'connect',
      server: files,
      target,
      env: ['API_KEY', 'HOME'],
      before: 'npx -y some-server',
    }
    const lines = await new Person().sees(action)
    const text = lines.join('\n')
    expect(text).toContain('The command or URL of a server changed')
    expect(text).toContain('Approved before\n│ npx -y some-server\nNow\n')
    expect(text).toContain('Variables  API_KEY, HOME')
    const shown = lines
      .filter((line) => /^[│┊]/.test(line))
      .map((line) => line.slice(2))
      .join('')
    expect(shown).toContain(target)
  })

  it('shows what changed in the definitions of a server', async () => {
    const changes = [
      { kind: 'added', what: 'tool delete_all', details: [] },
      { kind: 'removed', what: 'tool old', details: [] },
      { kind: 'changed', what: 'tool read', details: ['description: "Reads" -> "Reads any file"'] },
    ] as const
    const text = (await new Person().sees({ kind: 'definitions', server: files, changes, isFirstUse: false })).join(
      '\n',
    )
    expect(text).toContain('The definitions of a server changed')
    expect(text).toContain(
      '+ added    tool delete_all\n- removed  tool old\n~ changed  tool read\n│ description: "Reads" -> "Reads any file"',
    )
  })

  it('about sampling shows the complete request, and later the complete message', async () => {
    const request = {
      systemPrompt: 'You are a pirate.',
      messages: [
        { role: 'user' as const, content: { type: 'text' as const, text: 'Summarize:\nall of it' } },
        { role: 'user' as const, content: { type: 'image' as const, data: 'AAAA', mimeType: 'image/png' } },
      ],
      maxTokens: 100,
      includeContext: 'allServers' as const,
    }
    const asked = (await new Person().sees({ kind: 'sampling', server: files, request })).join('\n')
    for (const part of [
      '│ You are a pirate.',
      '│ Summarize:\n│ all of it',
      'image/png',
      '(4 characters of Base64)',
      'allServers',
      '"maxTokens": 100',
    ])
      expect(asked).toContain(part)
    const result = {
      role: 'assistant' as const,
      model: 'm-1',
      content: { type: 'text' as const, text: 'Arr.' },
      stopReason: 'endTurn',
    }
    const answered = (await new Person().sees({ kind: 'sampling-result', server: files, request, result })).join('\n')
    for (const part of ['Model      m-1', 'Stopped    endTurn', 'Message of the model\n│ Arr.'])
      expect(answered).toContain(part)
  })

  it.each<[string, HostAction, string[]]>([
    [
      'resources',
      { kind: 'resource', server: files, uri: 'file:///etc/hosts' },
      ['Read a resource', '│ file:///etc/hosts'],
    ],
    [
      'prompts',
      { kind: 'prompt', server: files, prompt: 'review', arguments: { pr: '7' } },
      ['Prompt     review', '│   "pr": "7"'],
    ],
    [
      'roots',
      { kind: 'roots', server: files, roots: [{ uri: 'file:///home/ada', name: 'Home' }] },
      ['│ file:///home/ada (Home)'],
    ],
    [
      'elicitation',
      { kind: 'elicitation', server: files, request: { mode: 'url', message: 'Sign in', url: 'https://a.example/x' } },
      ['A server wants to ask you', '│ Sign in', 'https://a.example/x'],
    ],
    [
      'new servers',
      { kind: 'connect', server: files, target: 'https://a.example/mcp', env: [], before: undefined },
      ['Connect to a new server', '│ https://a.example/mcp'],
    ],
  ])('shows %s', async (_, action, parts) => {
    const text = (await new Person().sees(action)).join('\n')
    for (const part of parts) expect(text).toContain(part)
  })
})

describe('text of servers', () => {
  const forged =
    'x\n\nServer     bank (trusted)\n[o]nce  [s]ession  [a]lways  [D]eny\u00a0> \r\u001b[2J\u001b[1;1H\u202e\u200b\u0007'
  const attacks: [string, string][] = [
    ['a forged question and control sequences', forged],
    ['an operating system command', '\u001b]0;title\u0007'],
    ['wide letters', `${'宽'.repeat(300)}\n`],
    ['letters with combining marks', 'e\u0301'.repeat(200)],
    ['stacked combining marks', `a${'\u0301'.repeat(500)}`],
    ['emoji', '🙂'.repeat(200)],
    ['tabs', '\t'.repeat(200)],
    ['a line separator', '\u2028Server     bank'],
    ['a long word', 'A'.repeat(5_000)],
    ['many spaces', `x${' '.repeat(79)}Server     bank`],
  ]

  const actions = (text: string): HostAction[] => [
    {
      ...write,
      server: { ...files, address: text },
      tool: { ...write.tool, name: text },
      name: text,
      arguments: { [text]: text },
    },
    { ...write, flows: [{ from: text, path: text, excerpt: text }] },
    { kind: 'connect', server: files, target: text, env: [text], before: text },
    {
      kind: 'definitions',
      server: files,
      isFirstUse: true,
      changes: [{ kind: 'changed', what: text, details: [text] }],
    },
    { kind: 'resource', server: files, uri: text },
    { kind: 'prompt', server: files, prompt: text, arguments: { a: text } },
    { kind: 'roots', server: files, roots: [{ uri: text, name: text }] },
    {
      kind: 'elicitation',
      server: files,
      request: { message: text, requestedSchema: { type: 'object', properties: {} } },
    },
    {
      kind: 'sampling',
      server: files,
      request: { systemPrompt: text, maxTokens: 1, messages: [{ role: 'user', content: { type: 'text', text } }] },
    },
  ]

  /** Lines of this program start with one of these. Everything else is behind a bar or indented. */
  const own =
    /^(?:$|── |Server {5}files |Address {4}|Why {8}|Tool {7}|Known as {3}|Prompt {5}|Variables {2}|From {7}|To {9}|Where {6}|What {7}|[~] changed {2}|! |(?:Arguments|Resource|Folders|Message|Request|Settings|System prompt|Message of the user|Command line|Approved before|Now|Definitions)$|(?:Call|Connect|Use|Read|Get|Show|Let) .*\?$)/

  it.each(attacks)('cannot leave its place: %s', async (_, text) => {
    for (const action of actions(text)) {
      const findings: ApprovalRequest['findings'] = [
        { rule: 'hidden-text', severity: 'low', where: text, message: text, excerpt: text },
      ]
      const lines = await new Person().sees(action, { findings, reason: text })
      for (const line of lines) {
        expect(line).not.toMatch(/[\p{Cc}\u202e\u200b\u2028]/u)
        expect(/^(?:[│┊] | {11})/.test(line) || own.test(line), line).toBe(true)
        expect(columns(line), line).toBeLessThanOrEqual(80)
      }
      expect(lines.filter((line) => line.startsWith('Server  '))).toEqual(['Server     files (untrusted)'])
    }
  })

  it('fits a narrow terminal', async () => {
    const lines = await new Person({ columns: 40 }).sees({ ...write, arguments: { text: 'word '.repeat(100) } })
    for (const line of lines) expect(columns(line)).toBeLessThanOrEqual(40)
  })

  it('that is nested too deeply to be shown is denied', async () => {
    let value: unknown = 1
    for (let level = 0; level < 100_000; level++) value = [value]
    const person = new Person()
    expect(await person.approve(requestFor({ ...write, arguments: { value } }))).toBe('deny')
    await person.shows('too deeply nested to be shown')
  })

  it('that is nested deeply is shown without indentation', async () => {
    let value: unknown = 'deep'
    for (let level = 0; level < 500; level++) value = [value]
    const lines = await new Person().sees({ ...write, arguments: { value } })
    expect(lines.length).toBeLessThan(40)
    expect(lines.join('')).toContain('"deep"')
  })
})

/** East Asian letters and emoji take two columns, combining marks none. */
function columns(line: string): number {
  return [...line].reduce(
    (sum, char) => sum + (/\p{M}/u.test(char) ? 0 : /[\u2e80-\uffff\u{1f000}-\u{1ffff}]/u.test(char) ? 2 : 1),
    0,
  )
}
