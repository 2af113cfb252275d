import type { Client, ClientOptions } from 'tenon/client'
import type { McpServer, McpServerOptions } from 'tenon/server'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { handshakeRevisions, modern } from '../kit/revisions.ts'

const info = { name: 'new', version: '1' }
const sample = () => Promise.reject(new Error('not called'))

/** Returns the warnings of a process that has not warned yet. */
async function warnings(
  run: (fresh: { Client: typeof Client; McpServer: typeof McpServer }) => void,
): Promise<string[]> {
  vi.resetModules()
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const [client, server] = await Promise.all([import('tenon/client'), import('tenon/server')])
  run({ Client: client.Client, McpServer: server.McpServer })
  const said = warn.mock.calls.map(([message]) => String(message))
  warn.mockRestore()
  return said
}

describe('features that 2026-07-28 deprecates', () => {
  beforeEach(() => void vi.resetModules())

  const clients: [string, ClientOptions][] = [
    ['roots', { handlers: { roots: [] } }],
    ['sampling', { handlers: { sample } }],
    ['sampling', { capabilities: { sampling: {} } }],
    ['logging', { logLevel: 'info' }],
  ]
  it.each(clients)(
    'warns once about a deprecated feature when the client supports only 2026-07-28: %s %j [LIFE-028]',
    async (feature, options) => {
      const said = await warnings((fresh) => {
        for (let count = 0; count < 3; count++) new fresh.Client(info, { ...options, revision: modern })
      })
      expect(said).toEqual([
        `[tenon] ${feature} is deprecated in 2026-07-28, the only revision in use. New implementations should do without it.`,
      ])
    },
  )

  it('warns about a deprecated feature when the server supports only 2026-07-28 [LIFE-028]', async () => {
    const options: McpServerOptions = { revisions: [modern], capabilities: { logging: {} } }
    const said = await warnings((fresh) => void new fresh.McpServer(info, options))
    expect(said).toEqual([expect.stringContaining('logging is deprecated')])
  })

  it.each(clients)('does not warn when earlier revisions still need the feature: %s %j', async (_feature, options) => {
    const said = await warnings((fresh) => {
      new fresh.Client(info, options)
      new fresh.Client(info, { ...options, revisions: [modern, '2025-11-25'] })
      for (const revision of handshakeRevisions) new fresh.Client(info, { ...options, revision })
      new fresh.McpServer(info, { capabilities: { logging: {} } })
    })
    expect(said).toEqual([])
  })

  it('does not warn about deprecated features that are not used', async () => {
    const said = await warnings((fresh) => {
      const elicit = () => ({ action: 'decline' as const })
      new fresh.Client(info, { revision: modern, handlers: { elicit } })
      new fresh.McpServer(info, { revisions: [modern] })
    })
    expect(said).toEqual([])
  })
})
