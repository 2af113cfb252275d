import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { assertClean, skip } from './support/checks.js'
import { startChromium } from './support/chromium.js'
import { assertFits, begin, choose, whoami } from './support/login.js'
import { startForeignSite, startVault } from './support/vault.js'

// A login with a real browser: the library opens the page, the test uses the keyboard, and the browser is redirected.

const hostile = `<script>document.title = 'owned'</script><img src=x onerror="document.title = 'owned'">"'&amp;${'w'.repeat(200)}`

describe('a login in the browser', { skip }, () => {
  let browser
  before(async () => {
    browser = await startChromium()
  })
  after(() => browser?.close())

  for (const revision of ['2025-11-25', '2026-07-28']) {
    test(`works with the keyboard only, and the tool can be called (${revision})`, async (t) => {
      const { url } = await startVault(t)
      const login = await begin(t, browser, url, { revision })
      const { page } = login
      assert.match(await page.text(), /Notebook asks for access to http:\/\/127\.0\.0\.1:\d+\/mcp/)
      await choose(page, 'Allow')
      assert.equal(await whoami(login), 'alice may read')
      assert.equal((await login.connecting).revision, revision)
      await assertClean(page)
    })
  }

  test('uses the selected user and the remaining scopes', async (t) => {
    const { url } = await startVault(t)
    const { connecting, page } = await begin(t, browser, url, { auth: { scopes: ['write'] } })
    await page.tabTo('radio', 'alice')
    await page.press('ArrowDown')
    await page.tabTo('checkbox', 'write')
    await page.press('Space')
    await choose(page, 'Allow')
    assert.equal(await whoami({ page, connecting }), 'bob may read')
  })

  test('can be denied, and the client reports it', async (t) => {
    const { url } = await startVault(t)
    const { connecting, page } = await begin(t, browser, url)
    await choose(page, 'Deny')
    assert.match(await page.text(), /Authorization was not granted/)
    await page.shoot('denied')
    await assert.rejects(connecting, ({ cause }) => /access_denied/.test(cause?.message))
    await assertClean(page)
  })

  test('is not ended by a redirect with other parameters', async (t) => {
    const { url } = await startVault(t)
    const { connecting, page, redirect } = await begin(t, browser, url)
    const other = await browser.open()
    await other.visit(`${redirect}?code=stolen&state=guessed`)
    assert.match(await other.text(), /Unexpected request/)
    await other.visit(new URL('/', redirect))
    assert.match(await other.text(), /Page not found/)
    await choose(page, 'Allow')
    assert.equal(await whoami({ page, connecting }), 'alice may read')
  })

  test('shows the name of a client as text, without running scripts in it', async (t) => {
    const { url } = await startVault(t)
    const { page } = await begin(t, browser, url, { auth: { clientName: hostile } })
    assert.equal(await page.title(), `Let ${hostile} in?`)
    await assertFits(page)
    await page.shoot('hostile')
    await assertClean(page)
  })

  test('cannot be embedded in a page of another site', async (t) => {
    const { url } = await startVault(t)
    const { start, redirect } = await begin(t, browser, url)
    for (const target of [start, redirect]) {
      const other = await browser.open()
      await other.visit(await startForeignSite(t, frameOf(target)))
      assert.deepEqual(await other.frames(), ['chrome-error://chromewebdata/'])
    }
  })

  test('has pages that fit on a phone', async (t) => {
    const { url } = await startVault(t)
    const { page, start, redirect } = await begin(t, browser, url, { auth: { scopes: ['write'] } })
    const [unexpected, error] = [await browser.open(), await browser.open()]
    await unexpected.visit(redirect)
    await error.visit(start.replace(/client_id=[^&]*/, 'client_id=nobody'))
    await page.tabTo('button', 'Allow')
    for (const [name, tab] of Object.entries({ login: page, unexpected, error })) {
      await assertFits(tab)
      await tab.shoot(name)
    }
    await page.pressAndArrive('Enter')
    await assertFits(page)
    await page.shoot('granted')
  })
})

function frameOf(url) {
  return `<iframe src="${url.replaceAll('&', '&amp;')}"></iframe>`
}
