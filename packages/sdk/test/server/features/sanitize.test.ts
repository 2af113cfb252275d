import { connect } from 'tenon/client'
import {
  ErrorCode,
  inputRequired,
  McpServer,
  ProtocolError,
  type ServerOptions,
  sanitizeText,
  ToolError,
} from 'tenon/server'
import { describe, expect, it, vi } from 'vitest'
import { everyWire } from '../../kit/every-wire.ts'
import { notes } from './support.ts'

const info = { name: 'sanitize', version: '1' }
const leak = 'connect postgres://admin:hunter2@db failed \x1b[31mnow\u202e'
const clean = 'connect postgres://admin:[redacted]@db failed now'

function failing(options?: ConstructorParameters<typeof McpServer>[1]) {
  const server = new McpServer(info, options)
  server.registerTool('throws', {}, () => {
    throw new Error(leak)
  })
  server.registerTool('rejects', {}, async () => {
    throw leak
  })
  server.registerTool('tool-error', {}, () => {
    throw new ToolError(
      [
        { type: 'text', text: leak },
        { type: 'image', data: 'AAEC', mimeType: 'image/png' },
      ],
      { structuredContent: { cause: leak } },
    )
  })
  server.registerTool('protocol-error', {}, () => {
    throw new ProtocolError(ErrorCode.InternalError, leak, { kept: leak })
  })
  server.registerPrompt('prompt', {}, () => {
    throw new ProtocolError(ErrorCode.InvalidParams, leak)
  })
  server.registerResource('resource', 'a://b', {}, () => {
    throw new ProtocolError(ErrorCode.InternalError, leak)
  })
  server.registerTool('returns', {}, () => ({ content: [{ type: 'text', text: leak }], isError: true }))
  return server
}

describe('errors that handlers throw', () => {
  everyWire('reach clients without secrets and control characters [TOOL-052]', async (wire) => {
    await using pair = await wire.connect(failing())
    expect((await pair.client.callTool('throws')).text).toBe(clean)
    expect((await pair.client.callTool('rejects')).text).toBe(clean)
    const { content, structuredContent } = await pair.client.callTool('tool-error')
    if (wire.revision.id >= '2025-06-18') expect(structuredContent).toEqual({ cause: clean })
    expect(content).toEqual([
      { type: 'text', text: clean },
      { type: 'image', data: 'AAEC', mimeType: 'image/png' },
    ])
    await expect(pair.client.getPrompt('prompt')).rejects.toMatchObject({ message: clean })
    await expect(pair.client.readResource('a://b')).rejects.toMatchObject({ message: clean })
    expect(pair.transcript.toString()).not.toContain('hunter2')
    // Data is for programs.
    await expect(pair.client.callTool('protocol-error')).rejects.toMatchObject({ message: clean, data: { kept: leak } })
  })

  it('are sent as they are with sanitize: false', async () => {
    const client = await connect(failing({ sanitize: false }))
    expect((await client.callTool('throws')).text).toBe(leak)
    expect((await client.callTool('tool-error')).content[0]).toEqual({ type: 'text', text: leak })
    await expect(client.getPrompt('prompt')).rejects.toMatchObject({ message: leak })
    await client.close()
  })

  it('are sanitized by the function of the author instead', async () => {
    const text = (before: string) => sanitizeText(before).toUpperCase()
    const client = await connect(failing({ sanitize: { text } }))
    expect((await client.callTool('throws')).text).toBe(clean.toUpperCase())
    await expect(client.getPrompt('prompt')).rejects.toMatchObject({ message: clean.toUpperCase() })
    await client.close()
  })

  it('are not sent if the function of the author throws', async () => {
    const onError = vi.fn()
    const text = () => {
      throw new Error('Broken rule')
    }
    const client = await connect(failing({ sanitize: { text }, onError }))
    expect((await client.callTool('throws')).text).toBe('[redacted]')
    await expect(client.getPrompt('prompt')).rejects.toMatchObject({ message: '[redacted]' })
    expect(onError).toHaveBeenCalledTimes(2)
    await client.close()
  })

  it('rejects a rule that is not a function', () => {
    expect(() => new McpServer(info, { sanitize: { text: 'x' as never } })).toThrow('sanitize.text must be a function')
  })
})

describe('results of tools', () => {
  function reading(options?: ConstructorParameters<typeof McpServer>[1]) {
    const server = failing(options)
    server.registerTool('read', {}, () => leak)
    server.registerTool('query', { outputSchema: { type: 'object', properties: { rows: { type: 'array' } } } }, () => ({
      rows: [{ name: leak, password: 'hunter2', next: 'a' }],
    }))
    server.registerTool('ask', {}, (_args, ctx) =>
      ctx.inputResponses.go
        ? 'done'
        : inputRequired({
            inputRequests: {
              go: {
                method: 'elicitation/create',
                params: { mode: 'url', message: 'Go', url: link, elicitationId: '1' },
              },
            },
          }),
    )
    return server
  }
  const link = 'https://a.example/?token=abc'

  everyWire('are sent unchanged by default, because a tool may read files', async (wire) => {
    await using pair = await wire.connect(reading())
    expect((await pair.client.callTool('read')).text).toBe(leak)
    expect((await pair.client.callTool('returns')).text).toBe(leak)
  })

  everyWire('are sanitized with results: true [TOOL-052]', async (wire) => {
    await using pair = await wire.connect(reading({ sanitize: { results: true } }))
    expect((await pair.client.callTool('read')).text).toBe(clean)
    expect((await pair.client.callTool('returns')).text).toBe(clean)
    const { structuredContent, text } = await pair.client.callTool('query')
    if (structuredContent) {
      expect(structuredContent).toEqual({ rows: [{ name: clean, password: '[redacted]', next: 'a' }] })
    }
    expect(text).not.toContain('hunter2')
    expect(pair.transcript.toString()).not.toContain('hunter2')
  })

  it('ask for input with the URL that the author gave', async () => {
    const urls: string[] = []
    const client = await connect(reading({ sanitize: { results: true } }), {
      revision: '2026-07-28',
      handlers: {
        elicitUrl: ({ url }) => {
          urls.push(String(url))
          return { action: 'accept' }
        },
      },
    })
    expect((await client.callTool('ask')).text).toBe('done')
    expect(urls).toEqual([link])
    await client.close()
  })
})

describe('log messages', () => {
  function logging(options?: ConstructorParameters<typeof McpServer>[1]) {
    const server = new McpServer(info, options)
    server.registerTool('work', {}, (_args, ctx) => {
      ctx.log.info('login with password=hunter2 and Bearer sk-123456', 'auth')
      ctx.log.warning({ user: 'ada', password: 'hunter2', at: new Date(0), nested: [{ apiKey: 'k-hunter2' }] })
      ctx.log.error(3)
      server.sendLoggingMessage({ level: 'info', data: { dsn: 'postgres://admin:hunter2@db' } })
      return 'x'
    })
    return server
  }
  const fromHandler = [
    'login with password=[redacted] and Bearer [redacted]',
    { user: 'ada', password: '[redacted]', at: '1970-01-01T00:00:00.000Z', nested: [{ apiKey: '[redacted]' }] },
    3,
  ]

  everyWire('contain no credentials [LOG-015, LOG-019, LOG-021]', async (wire) => {
    await using pair = await wire.connect(logging(), { logLevel: 'debug' })
    await pair.client.callTool('work')
    const logged = notes(pair.transcript, 'notifications/message').map(({ params }) => params.data)
    expect(logged).toEqual(expect.arrayContaining(fromHandler))
    if (wire.revision.id !== '2026-07-28') expect(logged).toContainEqual({ dsn: 'postgres://admin:[redacted]@db' })
    expect(pair.transcript.toString()).not.toContain('hunter2')
  })

  const heardFrom = async (data: unknown, options: ServerOptions = {}) => {
    const server = new McpServer(info, { capabilities: { logging: {} }, ...options })
    server.registerTool('work', {}, (_, ctx) => {
      ctx.log.error(data)
      return 'done'
    })
    const heard: unknown[] = []
    await using client = await connect(server, { logLevel: 'debug' })
    client.on('log', (message) => heard.push(message.data))
    await client.callTool('work')
    return heard[0]
  }

  it('contain no stack traces, in texts and in members [LOG-024]', async () => {
    const { stack } = new Error('Disk full')
    expect(stack).toMatch(/\n +at .*:\d+:\d+/)
    expect(await heardFrom(stack)).toBe('Error: Disk full')
    expect(await heardFrom({ failed: [{ stack, code: 'ENOSPC' }] })).toEqual({
      failed: [{ stack: 'Error: Disk full', code: 'ENOSPC' }],
    })
    expect(await heardFrom('We meet\n  at noon')).toBe('We meet\n  at noon')
    expect(await heardFrom(stack, { sanitize: false })).toBe(stack)
  })

  it('pass every text through the function of the author, which knows what is personal [LOG-023]', async () => {
    const text = (before: string) => before.replace(/\S+@\S+/g, '[e-mail]').replace(/\+\d[\d ]{6,}/g, '[phone]')
    const data = { user: { email: 'ada@example.com', phones: ['+44 20 7946 0000'] }, note: 'Ask ada@example.com' }
    expect(await heardFrom(data, { sanitize: { text } })).toEqual({
      user: { email: '[e-mail]', phones: ['[phone]'] },
      note: 'Ask [e-mail]',
    })
  })

  it('are shown to filterLog first, and sanitized afterwards [LOG-016]', async () => {
    const seen: unknown[] = []
    const server = logging({
      filterLog: (message) => {
        seen.push(message.data)
        return { ...message, data: `token=${message.level}` }
      },
    })
    const heard: unknown[] = []
    const client = await connect(server, { logLevel: 'debug' })
    client.on('log', ({ data }) => heard.push(data))
    await client.callTool('work')
    expect(String(seen[0])).toContain('hunter2')
    expect(heard).toEqual(['token=[redacted]', 'token=[redacted]', 'token=[redacted]'])
    await client.close()
  })

  it('are sent as they are with sanitize: false', async () => {
    const heard: unknown[] = []
    const client = await connect(logging({ sanitize: false }), { logLevel: 'debug' })
    client.on('log', ({ data }) => heard.push(data))
    await client.callTool('work')
    expect(heard[0]).toContain('hunter2')
    await client.close()
  })
})
