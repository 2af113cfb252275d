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
import { until } from './support/inspector/tab.js'

describe('logins in the inspector', { skip }, () => {
  const open = inspectorSuite()

  test('come first, with a button that opens the login page', async (t) => {
    const { tab, login } = await openVault(t)
    await tab.see('requires a login', '.workspace h2')
    await tab.see(`Log in at ${new URL(login.issuer).host}`, '.login-panel')
    await tab.see('It asks for: vault', '.login-panel')
    const shown = await tab.text('.workspace')
    assert.doesNotMatch(shown, /0 tools|oauth\(\)|beginAuthorization/)
    await assertAccessible(tab)
    await assertAccessible(tab, ['phone', 'phone-dark'])
    await tab.click('button', 'Log in')
    // The authorization server of the tests asks nothing, so the tab that was opened sends the browser back at once.
    await until(async () => {
      await tab.page.send('Page.bringToFront')
      assert.match(await tab.text('.workspace'), /1 tool/)
    })
    await tab.see('Vault of Alice', '.server-name')
    await call(tab, 'whoami')
    await tab.see('You are alice', '.operation')
    await assertQuiet(tab)
  })

  test('can be replaced by a token, also where no login is offered', async (t) => {
    const http = createServer((request, response) => {
      const isMcp = request.url === '/mcp'
      response.writeHead(isMcp ? 401 : 404, { 'content-type': 'application/json' }).end('{}')
    })
    await new Promise((resolve) => http.listen(0, '127.0.0.1', resolve))
    t.after(() => {
      http.closeAllConnections()
      http.close()
    })
    const target = `http://127.0.0.1:${http.address().port}/mcp`
    const tab = await open(t, undefined, { url: await serveInspector(t, target) })
    await tab.see('takes a token that its operator issues', '.login-panel')
    await tab.click('button', 'Use a token…')
    const fields = `[...document.querySelectorAll('dialog input.mono, dialog textarea')].map((each) => each.value)`
    await until(async () => assert.deepEqual(await tab.page.evaluate(fields), [target, 'Authorization: Bearer ']))
    await tab.fill('textbox', 'Headers, one per line', 'Authorization: Bearer wrong')
    await tab.click('button', 'Connect')
    await tab.see('The server does not accept the token', '.login-panel')
    assert.equal(await tab.page.evaluate(`document.querySelectorAll('.server').length`), 1)
  })

  test('show each step, what was expected and what was found', async (t) => {
    const { tab, login } = await openVault(t)
    await tab.see('login required', '.servers')
    await tab.see('Protected resource metadata', '.auth-steps')
    await tab.see('expected', '.auth-steps')
    await tab.see(`authorization server ${login.issuer}`, '.auth-steps')
    await tab.page.evaluate('window.open = () => null; undefined')
    await tab.click('button', 'Log in')
    await tab.see('Waiting for you to log in', '.login-panel')
    const url = await tab.page.evaluate(`document.querySelector('.login-panel a').href`)
    assert.equal(new URL(url).origin, new URL(login.issuer).origin)
    await tab.click('button', 'Cancel')
    await tab.click('button', 'Log in')
    await tab.see('Waiting for you to log in', '.login-panel')
    const again = await tab.page.evaluate(`document.querySelector('.login-panel a').href`)
    assert.equal((await fetch(again)).status, 200)
    await tab.see('1 tool', '.workspace')
    await tab.click('button', 'Overview')
    await tab.see('Token request', '.auth-steps')
    await assertQuiet(tab)
  })

  /** Opens the inspector with a server that requires a login. */
  async function openVault(t) {
    const login = await startAuthorizationServer()
    t.after(() => login[Symbol.asyncDispose]())
    const vault = await serveVault(login.issuer)
    t.after(() => vault[Symbol.asyncDispose]())
    const tab = await open(t, undefined, { url: await serveInspector(t, vault.url) })
    return { tab, login }
  }
})

async function serveVault(issuer) {
  const server = new McpServer({ name: 'vault', version: '1.0.0', title: 'Vault of Alice' })
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
