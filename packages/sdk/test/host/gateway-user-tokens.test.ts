import { describe, expect, it } from 'vitest'
import { connect } from '../../src/connect/connect.ts'
import { UrlElicitationRequiredError } from '../../src/errors.ts'
import type { GatewayCaller } from '../../src/host/gateway/options.ts'
import { serveHttp } from '../../src/serve/http.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { serveGateway } from './gateway-support.ts'

const resource = { resource: 'http://127.0.0.1/mcp', authorizationServers: ['https://login.example'] }

/** A server that accepts tokens of the form `upstream-<user>` only, and says whose it got. */
async function mailbox() {
  const server = new McpServer({ name: 'mailbox', version: '1.0.0' })
  const tokens: string[] = []
  server.registerTool('whose', {}, (_, ctx) => `mail of ${ctx.auth?.subject}`)
  const verify = async (token: string) => {
    tokens.push(token)
    if (!token.startsWith('upstream-')) throw new Error('Not a token of this server')
    return { subject: token.slice('upstream-'.length), scopes: [] }
  }
  return { http: await serveHttp(server, { port: 0, exit: false, auth: { verify, ...resource } }), tokens }
}

/** A gateway whose callers have tokens that are their names. */
async function serve(url: string, token: (caller: GatewayCaller) => string | Promise<string>) {
  const verify = async (name: string) => ({ subject: name, scopes: [] })
  return serveGateway({ mail: { url } }, { userTokens: { mail: token }, http: { auth: { verify, ...resource } } })
}

const as = (name: string) => ({ headers: { authorization: `Bearer ${name}` } })

describe.each(['2025-11-25', '2026-07-28'] as const)(
  'a server with a token for each user (callers of %s)',
  (revision) => {
    it('gets the token of the user who calls, and never the one of the gateway', async () => {
      const { http, tokens } = await mailbox()
      await using _upstream = http
      await using gateway = await serve(http.url, ({ auth }) => `upstream-${auth?.subject}`)
      await using alice = await connect(gateway.url, { revision, ...as('alice') })
      await using bob = await connect(gateway.url, { revision, ...as('bob') })
      expect((await alice.listTools().all()).map(({ name }) => name)).toEqual(['mail_whose'])
      const [a, b, c] = await Promise.all([
        alice.callTool('mail_whose'),
        bob.callTool('mail_whose'),
        alice.callTool('mail_whose'),
      ])
      expect([a?.text, b?.text, c?.text]).toEqual(['mail of alice', 'mail of bob', 'mail of alice'])
      expect(new Set(tokens)).toEqual(new Set(['upstream-alice', 'upstream-bob']))
    })

    it('lets the user log in first, if there is no token yet', async () => {
      const { http } = await mailbox()
      await using _upstream = http
      const loggedIn = new Set(['bob'])
      await using gateway = await serve(http.url, ({ auth }) => {
        if (loggedIn.has(auth?.subject ?? '')) return `upstream-${auth?.subject}`
        throw new UrlElicitationRequiredError([
          { message: 'Log in to your mailbox', url: 'https://login.example/mail' },
        ])
      })
      await using bob = await connect(gateway.url, { revision, ...as('bob') })
      await bob.listTools().all()
      const urls: string[] = []
      const elicitUrl = ({ url }: { url: URL }) => {
        urls.push(url.href)
        loggedIn.add('alice')
        return { action: 'accept' as const }
      }
      await using alice = await connect(gateway.url, { revision, ...as('alice'), handlers: { elicitUrl } })
      const refused = await alice.callTool('mail_whose').catch((error: Error) => error)
      if (revision === '2026-07-28') expect(urls).toEqual(['https://login.example/mail'])
      else expect(refused).toMatchObject({ rpcCode: -32042 })
      loggedIn.add('alice')
      expect((await alice.callTool('mail_whose')).text).toBe('mail of alice')
    })
  },
)
