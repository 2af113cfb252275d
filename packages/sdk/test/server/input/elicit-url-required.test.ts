import { CapabilityError, ErrorCode, PeerError, UrlElicitationRequiredError } from 'tenon'
import type { ClientHandlers } from 'tenon/client'
import { McpServer, ProtocolError } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { connected } from '../../era/support.ts'
import { errorOf } from '../../kit/error-of.ts'
import { scripted, scriptedClient } from '../../kit/scripted-server.ts'
import { said } from '../../kit/transcript.ts'
import { asked, asking } from './asked.ts'
import { complete, nextCompletion, old, onlyOld, page, visiting } from './elicit-url-support.ts'
import { everyAsking, everyPage } from './support.ts'
import { modern } from './wire.ts'

describe('a call that requires a URL elicitation first', () => {
  const needsPage = () => {
    const visited = new Set<string>()
    const server = new McpServer({ name: 'gate', version: '1.0.0' })
    const check = (what: string) => {
      if (visited.has(what)) return 'inside'
      throw new UrlElicitationRequiredError([
        { message: 'Log in there', url: `https://example.com/${what}` },
        { message: 'Agree there', url: 'https://example.com/terms', elicitationId: `terms of ${what}` },
      ])
    }
    server.registerTool('enter', {}, () => check('tool'))
    server.registerPrompt('enter', {}, () => check('prompt'))
    server.registerResource('enter', 'gate://in', {}, () => check('resource'))
    return { server, visited }
  }

  everyAsking(
    'fails with -32042 and the URLs, each with an id [ELIC-030, ELIC-032]',
    async (wire) => {
      const { server, visited } = needsPage()
      const { seen, handlers } = visiting()
      await using pair = await wire.connect(server, { handlers })
      const { client } = pair
      const calls = {
        tool: () => client.callTool('enter'),
        prompt: () => client.getPrompt('enter'),
        resource: () => client.readResource('gate://in'),
      }
      for (const [what, call] of Object.entries(calls)) {
        const error = await errorOf<PeerError>(call())
        expect(error).toBeInstanceOf(PeerError)
        expect(error.rpcCode).toBe(-32042)
        const { elicitations } = error.data as { elicitations: { elicitationId: string }[] }
        expect(elicitations).toEqual([
          {
            mode: 'url',
            message: 'Log in there',
            url: `https://example.com/${what}`,
            elicitationId: expect.any(String),
          },
          {
            mode: 'url',
            message: 'Agree there',
            url: 'https://example.com/terms',
            elicitationId: `terms of ${what}`,
          },
        ])
        expect(new Set(elicitations.map(({ elicitationId }) => elicitationId)).size).toBe(2)
        visited.add(what)
        await call()
      }
      // The client shows nothing itself: the caller decides what to do with the error.
      expect(seen).toEqual([])
    },
    onlyOld,
  )

  everyAsking(
    'sends the user to the URLs and then continues, on 2026-07-28 [ELIC-022, ELIC-024]',
    async (wire) => {
      const { server, visited } = needsPage()
      const seen: string[] = []
      const elicitUrl: ClientHandlers['elicitUrl'] = ({ url }) => {
        seen.push(url.pathname)
        visited.add(url.pathname.slice(1))
        return { action: 'accept' }
      }
      await using pair = await wire.connect(server, { handlers: { elicitUrl } })
      expect((await pair.client.callTool('enter')).text).toBe('inside')
      await pair.client.getPrompt('enter')
      await pair.client.readResource('gate://in')
      expect(seen).toEqual(['tool', 'prompt', 'resource'].flatMap((what) => [`/${what}`, '/terms']))
      expect(asked(pair.transcript)).toHaveLength(6)
      for (const question of asked(pair.transcript)) {
        expect(Object.keys(question).sort()).toEqual(['message', 'mode', 'url'])
      }
    },
    { revisions: [modern] },
  )

  everyAsking(
    'is not repeated when the user declines, on 2026-07-28 [ELIC-021]',
    async (wire) => {
      const { server } = needsPage()
      for (const action of ['decline', 'cancel'] as const) {
        const { seen, handlers } = visiting(action)
        await using pair = await wire.connect(server, { handlers })
        const error = await errorOf<PeerError>(pair.client.callTool('enter'))
        expect([error.rpcCode, error.message]).toEqual([-32_603, expect.stringContaining('declined to visit the URL')])
        expect(seen).toHaveLength(2)
      }
    },
    { revisions: [modern] },
  )

  everyAsking(
    'is not repeated for ever while the user has not finished there, on 2026-07-28 [ELIC-024]',
    async (wire) => {
      const { server, visited } = needsPage()
      const { seen, handlers } = visiting('accept')
      await using pair = await wire.connect(server, { handlers })
      const error = await errorOf<PeerError>(pair.client.callTool('enter'))
      expect(error.message).toContain('Repeat the request when they have finished there')
      expect(seen).toHaveLength(2)
      visited.add('tool')
      expect((await pair.client.callTool('enter')).text).toBe('inside')
    },
    { revisions: [modern] },
  )

  everyAsking(
    'is not repeated when the user declines one of the URLs, on 2026-07-28 [ELIC-021]',
    async (wire) => {
      const { server } = needsPage()
      const elicitUrl: ClientHandlers['elicitUrl'] = ({ url }) => ({
        action: url.pathname === '/terms' ? 'decline' : 'accept',
      })
      await using pair = await wire.connect(server, { handlers: { elicitUrl } })
      const error = await errorOf<PeerError>(pair.client.callTool('enter'))
      expect(error.message).toContain('declined to visit the URL')
    },
    { revisions: [modern] },
  )

  const without: [string, ClientHandlers][] = [
    ['has only forms', { elicit: () => ({ action: 'decline' }) }],
    ['can be asked nothing', {}],
  ]
  for (const [name, handlers] of without) {
    everyPage(`fails with another error for a client that ${name} [ELIC-005, ELIC-031]`, async (wire) => {
      const { server } = needsPage()
      await using pair = await wire.connect(server, { handlers })
      const error = await errorOf<PeerError>(pair.client.callTool('enter'))
      expect(error.rpcCode).toBe(wire.revision.era === 'handshake' ? ErrorCode.InternalError : -32021)
      expect(error.message).toContain('visit a URL')
      expect(JSON.stringify(said(pair.transcript, 'server'))).not.toContain('-32042')
    })
  }

  everyAsking(
    'fails with another error on revisions without URL elicitation [ELIC-031]',
    async (wire) => {
      const { server } = needsPage()
      await using pair = await wire.connect(server, visiting())
      const error = await errorOf<PeerError>(pair.client.callTool('enter'))
      expect(error.rpcCode).toBe(ErrorCode.InternalError)
      expect(error.message).toContain('visit a URL')
      expect(JSON.stringify(said(pair.transcript, 'server'))).not.toContain('-32042')
    },
    { revisions: ['2024-11-05', '2025-03-26', '2025-06-18'] },
  )

  it('gives each URL an id, even when elicitationId is explicitly undefined [ELIC-032]', () => {
    const error = new UrlElicitationRequiredError([{ message: 'Look there', url: page, elicitationId: undefined }])
    expect(error.data).toEqual({
      elicitations: [{ mode: 'url', message: 'Look there', url: page, elicitationId: expect.any(String) }],
    })
  })

  everyAsking(
    'names no URL to a client without URL elicitation [ELIC-005]',
    async (wire) => {
      const { server } = needsPage()
      await using pair = await wire.connect(server, { handlers: { elicit: () => ({ action: 'decline' }) } })
      await errorOf(pair.client.callTool('enter'))
      expect(JSON.stringify(said(pair.transcript, 'server'))).not.toContain('"mode":"url"')
    },
    { revisions: ['2025-06-18', old] },
  )

  it('must name at least one URL [ELIC-031, ELIC-032]', () => {
    expect(() => new UrlElicitationRequiredError([])).toThrow(TypeError)
  })

  everyPage('is the only error that uses -32042 [ELIC-031]', async (wire) => {
    const server = new McpServer({ name: 'gate', version: '1.0.0' })
    const failures: Record<string, () => unknown> = {
      plain: () => new Error('broken'),
      rpc: () => new ProtocolError(ErrorCode.InvalidParams, 'wrong'),
      capability: () => new CapabilityError('elicitUrl', 'cannot be asked to visit a URL'),
    }
    for (const [name, failure] of Object.entries(failures)) {
      server.registerTool(name, {}, () => {
        throw failure()
      })
    }
    await using pair = await wire.connect(server, visiting())
    for (const name of [...Object.keys(failures), 'unknown']) await pair.client.callTool(name).catch(() => {})
    await pair.client.request('no/such/method').catch(() => {})
    expect(JSON.stringify(said(pair.transcript, 'server'))).not.toContain('-32042')
  })

  it('can be repeated after the server reports completion (2025-11-25) [ELIC-025, ELIC-028]', async () => {
    let isIn = false
    let retry = () => {}
    const server = asking(async (ctx) => {
      if (isIn) return 'inside'
      const { action, complete } = await ctx.elicitUrl('Log in there', page)
      retry = () => {
        isIn = true
        complete()
      }
      return action === 'accept' ? 'Come back when you are done' : 'Another time'
    })
    await using client = await connected(server, { revision: old, ...visiting() })
    const completed = nextCompletion(client)
    expect((await client.callTool('ask')).text).toBe('Come back when you are done')
    retry()
    await completed
    expect((await client.callTool('ask')).text).toBe('inside')
  })

  it('can be repeated after an elicitation from -32042 completes (2025-11-25) [ELIC-027, ELIC-028]', async () => {
    let isIn = false
    const elicitation = { mode: 'url', message: 'Log in there', url: page, elicitationId: 'e-9' }
    const server = scripted(old, {
      'tools/call': () =>
        isIn
          ? { result: { content: [{ type: 'text', text: 'inside' }] } }
          : { error: { code: -32042, message: 'Log in first', data: { elicitations: [elicitation] } } },
    })
    await using client = await scriptedClient(server, { revision: old, ...visiting() })
    const events: string[] = []
    client.on('elicitationComplete', ({ elicitationId }) => events.push(elicitationId))
    expect(await errorOf<PeerError>(client.callTool('enter'))).toMatchObject({ rpcCode: -32042 })
    isIn = true
    for (const elicitationId of ['e-8', 'e-9', 'e-9'])
      server.say({ jsonrpc: '2.0', method: complete, params: { elicitationId } })
    await client.ping()
    expect(events).toEqual(['e-9'])
    expect((await client.callTool('enter')).text).toBe('inside')
  })
})
