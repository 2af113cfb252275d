import { expect, it } from 'vitest'
import { connect } from '../../src/connect/connect.ts'
import type { AuditRecord } from '../../src/host/audit/audit.ts'
import { serveHttp } from '../../src/serve/http.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { serveGateway } from './gateway-support.ts'

const resource = { resource: 'http://127.0.0.1/mcp', authorizationServers: ['https://login.example'] }

/** Calls a tool through a gateway as bob, and returns how the audit log names him. */
async function callersOf(revision: '2025-11-25' | '2026-07-28', hasTokens: boolean) {
  const server = new McpServer({ name: 'notes', version: '1.0.0' })
  server.registerTool('echo', {}, () => 'hi')
  await using http = await serveHttp(server, { port: 0, exit: false })
  const records: AuditRecord[] = []
  const audit = {
    append: (record: AuditRecord) => void records.push(record),
    flush: async () => {},
    close: async () => {},
  }
  const verify = async (name: string) => ({ subject: name, scopes: [] })
  const options = hasTokens ? { http: { auth: { verify, ...resource } } } : {}
  await using gateway = await serveGateway({ notes: { url: http.url } }, { host: { audit }, ...options })
  await using bob = await connect(gateway.url, { revision, headers: hasTokens ? { authorization: 'Bearer bob' } : {} })
  await bob.callTool('notes_echo')
  return records.filter(({ event }) => event === 'tool-call').map(({ caller }) => caller)
}

it.each(['2025-11-25', '2026-07-28'] as const)('the audit log names the user of a token on %s', async (revision) => {
  expect(await callersOf(revision, true)).toEqual([expect.stringMatching(/^user .*bob/)])
})

it('the audit log has only the beginning of a session id, which is a secret', async () => {
  expect(await callersOf('2025-11-25', false)).toEqual([expect.stringMatching(/^session .{8}$/)])
})
