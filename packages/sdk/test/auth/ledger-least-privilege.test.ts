import { bearer } from 'tenon/auth/client'
import type { AuthInfo } from 'tenon/auth/server'
import { connect } from 'tenon/client'
import { McpServer, serveHttp } from 'tenon/server'
import { startAuthorizationServer } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import { forbidden, Gate, join, scopeOf, User } from './client-support.ts'

describe('local servers over HTTP', () => {
  it('requires its token from local callers [SEC-015]', async () => {
    const server = new McpServer({ name: 'local', version: '1.0.0' })
    server.registerTool('ping', {}, () => 'pong')
    const owner: AuthInfo = { clientId: 'owner', scopes: [] }
    const verify = (token: string) => (token === 'of-this-start' ? owner : undefined)
    const http = await serveHttp(server, {
      port: 0,
      exit: false,
      auth: { verify, authorizationServers: ['https://as.example'] },
    })
    try {
      expect(new URL(http.url).hostname).toBe('127.0.0.1')
      for (const auth of [undefined, bearer('of-another-start')]) {
        await expect(connect(http.url, { auth })).rejects.toMatchObject({ status: 401 })
      }
      await using client = await connect(http.url, { auth: bearer('of-this-start') })
      expect((await client.callTool('ping')).text).toBe('pong')
    } finally {
      await http.close()
    }
  })
})

describe('incremental scopes', () => {
  it('requests the needed scopes first, adds missing ones, and never repeats refused ones [SEC-016]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    gate.metadata = { scopes_supported: ['read', 'write', 'admin'] }
    gate.challenge += ', scope="read"'
    let stingy = false
    gate.judge = (token, { body }) => {
      if (token === undefined) return gate.refusal
      if (!body.includes('"write"')) return undefined
      return stingy || !scopeOf(token).includes('write') ? forbidden('write') : undefined
    }
    const user = new User()
    await using client = await join(gate, user.auth())
    expect((await client.callTool('ping')).text).toBe('pong')
    expect(user.scopes).toEqual(['read'])
    expect((await client.callTool('write')).text).toBe('written')
    expect(user.scopes).toEqual(['read', 'read write'])
    stingy = true
    for (let round = 0; round < 3; round++) await expect(client.callTool('write')).rejects.toThrow()
    expect(user.scopes).toEqual(['read', 'read write'])
  })
})
