import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { skip } from './support/checks.js'
import { startChromium } from './support/chromium.js'
import { serverFile, startInspector } from './support/inspector/inspector.js'
import { InspectorTab } from './support/inspector/tab.js'
import { startForeignSite } from './support/vault.js'

describe('other pages and the inspector', { skip }, () => {
  let browser
  before(async () => {
    browser = await startChromium()
  })
  after(() => browser?.close())

  test('cannot read its API, connect servers or show it in a frame', async (t) => {
    const url = new URL(await startInspector(t, [process.execPath, serverFile('showcase')]))
    const secret = new URLSearchParams(url.hash.slice(1)).get('secret')
    const tab = await InspectorTab.open(browser, url)
    await tab.see('15 tools')
    const foreign = await browser.open({ profile: tab.page.profile })
    await foreign.visit(await startForeignSite(t, '<meta name="referrer" content="no-referrer"><p>Hello'))
    const attempts = {
      plain: `fetch('${url.origin}/api/configured')`,
      withSecret: `fetch('${url.origin}/api/configured', { headers: { authorization: 'Bearer ${secret}' } })`,
      simplePost: `fetch('${url.origin}/api/servers', { method: 'POST', body: '{"target":"touch /tmp/x"}' })`,
    }
    for (const [name, attempt] of Object.entries(attempts)) {
      const outcome = await foreign.evaluate(`${attempt}.then((response) => response.status, () => 'blocked')`)
      assert.equal(outcome, 'blocked', name)
    }
    const blind = `fetch('${url.origin}/api/servers', { method: 'POST', mode: 'no-cors', body: '{"target":"node -v"}' })`
    await foreign.evaluate(`${blind}.then(() => 0, () => 0)`)
    await foreign.evaluate(`new Promise((resolve) => {
      const frame = document.createElement('iframe')
      frame.onload = resolve
      frame.src = '${url.origin}/'
      document.body.append(frame)
    })`)
    assert.deepEqual(
      (await foreign.frames()).filter((address) => address.startsWith(url.origin)),
      [],
    )
    assert.equal(await tab.page.evaluate(`document.querySelectorAll('.server').length`), 1)
  })

  test('get nothing from the page itself without the secret', async (t) => {
    const url = new URL(await startInspector(t, [process.execPath, serverFile('showcase')]))
    const tab = await InspectorTab.open(browser, url)
    await tab.see('15 tools')
    assert.equal(await tab.page.url(), `${url.origin}/`)
    await tab.page.visit(`${url.origin}/`)
    await tab.see('15 tools')
    const other = await InspectorTab.open(browser, `${url.origin}/`)
    await other.see('The backend refused this page')
    await other.see('No server is connected')
  })
})
