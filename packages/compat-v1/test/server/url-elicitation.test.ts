import { afterEach, describe, expect, it } from 'vitest'
import { McpServer } from '../../src/server/mcp.ts'
import { ErrorCode, McpError, UrlElicitationRequiredError } from '../../src/types.ts'
import { connectTo } from './connect.ts'

const login = { mode: 'url' as const, message: 'Log in', url: 'https://login.example/', elicitationId: 'e1' }

describe('a tool of SDK 1.x that throws UrlElicitationRequiredError', () => {
  let isIn = false
  afterEach(() => {
    isIn = false
  })

  function create(error: () => Error = () => new UrlElicitationRequiredError([login])) {
    const server = new McpServer({ name: 'shop', version: '1.0.0' })
    server.registerTool('order', {}, () => {
      if (!isIn) throw error()
      return { content: [{ type: 'text', text: 'ordered' }] }
    })
    return server
  }
  const elicitUrl = () => {
    isIn = true
    return { action: 'accept' as const }
  }

  it.each([
    ['the class', () => new UrlElicitationRequiredError([login])],
    ['the code', () => new McpError(ErrorCode.UrlElicitationRequired, 'Log in', { elicitations: [login] })],
  ])('fails with -32042 and the URLs, not with a result that has isError: %s [ELIC-030]', async (_, error) => {
    await using client = await connectTo(create(error), '2025-11-25', { handlers: { elicitUrl } })
    await expect(client.callTool('order')).rejects.toMatchObject({
      rpcCode: -32_042,
      data: { elicitations: [login] },
    })
  })

  it('asks a client of 2026-07-28 to visit the URL, and then continues [ELIC-022]', async () => {
    const seen: string[] = []
    const handlers = {
      elicitUrl: ({ url }: { url: URL }) => {
        seen.push(url.href)
        return elicitUrl()
      },
    }
    await using client = await connectTo(create(), '2026-07-28', { handlers })
    expect((await client.callTool('order')).text).toBe('ordered')
    expect(seen).toEqual([login.url])
  })

  it('returns other errors as a result with isError', async () => {
    await using client = await connectTo(
      create(() => new Error('Sold out')),
      '2025-11-25',
    )
    expect(await client.callTool('order')).toMatchObject({ isError: true, text: 'Sold out' })
  })
})
