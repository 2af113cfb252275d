import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { describe, test } from 'node:test'
import { MemoryTokenStore } from 'tenon/auth/client'
import { jwtVerifier } from 'tenon/auth/server'
import { McpServer, serveHttp } from 'tenon/server'
import { startAuthorizationServer } from 'tenon/testing'
import { createInspector } from '../../packages/cli/dist/inspector/index.js'
import { skip } from './support/checks.js'
import { call } from './support/inspector/actions.js'
import { assertAccessible, assertQuiet } from './support/inspector/checks.js'
import { inspectorSuite } from './support/inspector/suite.js'

describe('logins in the inspector', { skip }, () => {
  const open = inspectorSuite()

  test('show each step, what was expected and what was found', async (t) => {
    const login = await startAuthorizationServer()
    t.after(() => login[Symbol.asyncDispose]())
    const vault = await serveVault(login.issuer)
    t.after(() => vault[Symbol.asyncDispose]())
    const tab = await open(t, undefined, { url: await serveInspector(t, vault.url) })
    await tab.see('login required', '.servers')
    await tab.click('button', 'Overview')
    await tab.see('Protected resource metadata', '.auth-steps')
    await tab.see('expected', '.auth-steps')
    await tab.see(`authorization server ${login.issuer}`, '.auth-steps')
    await assertAccessible(tab)
    await tab.click('button', 'Log in')
    await tab.see(`Open the login page: ${login.issuer}`)
    const url = await tab.page.evaluate(`document.querySelector('[aria-label=Authorization] .row a').href`)
    assert.equal((await fetch(url)).status, 200)
    await tab.see('ready', '.overview')
    await tab.see('Token request', '.auth-steps')
    await tab.click('button', /^Tools/)
    await call(tab, 'whoami')
    await tab.see('You are alice', '.operation')
    await assertQuiet(tab)
  })
})

async function serveVault(issuer) {
  const server = new McpServer({ name: 'vault', version: '1.0.0' })
  server.registerTool('whoami', {}, (_args, ctx) => `You are ${ctx.auth?.subject}`)
  const auth = { verify: jwtVerifier({ issuer }), authorizationServers: [issuer], requiredScopes: ['vault'] }
  return serveHttp(server, { port: 0, exit: false, auth })
}

/** The backend in this process, with tokens that are not stored on disk. */
async function serveInspector(t, target) {
  const inspector = createInspector({ tokens: new MemoryTokenStore() })
  const http = createServer((request, response) => void inspector.handle(request, response))
  await new Promise((resolve) => http.listen(0, '127.0.0.1', resolve))
  t.after(async () => {
    await inspector.close()
    http.closeAllConnections()
    http.close()
  })
  inspector.connect({ target })
  return `http://127.0.0.1:${http.address().port}${inspector.path}`
}
