import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { assertClean, skip } from './support/checks.js'
import { startChromium } from './support/chromium.js'
import { startForeignSite } from './support/vault.js'

// The other tests rely on this: the driver detects pages that do something forbidden.

describe('the browser driver', { skip }, () => {
  let browser
  before(async () => {
    browser = await startChromium()
  })
  after(() => browser?.close())

  const policy = `<meta http-equiv="content-security-policy" content="default-src 'none'">`
  const wrongs = {
    'a script': '<script>1</script>',
    'a script in an attribute': '<body onload="1">',
    'a script that the policy forbids': `${policy}<script>1</script>`,
    'a script in an attribute that the policy forbids': `${policy}<body onload="1">`,
    'a style that the policy forbids': `${policy}<style>p { color: red }</style>`,
    'an image that the policy forbids': `${policy}<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">`,
    'a request to another machine': '<link rel="stylesheet" href="http://192.0.2.1/">',
    'a request to another host name': '<link rel="stylesheet" href="https://example.com/">',
  }

  for (const [what, content] of Object.entries(wrongs)) {
    test(`detects ${what}`, async (t) => {
      const page = await browser.open()
      await page.visit(await startForeignSite(t, content))
      await assert.rejects(assertClean(page), assert.AssertionError)
    })
  }

  test('detects a referrer sent to another site', async (t) => {
    const [first, second] = [await startForeignSite(t, '<p>First'), await startForeignSite(t, '<p>Second')]
    const page = await browser.open()
    await page.visit(first)
    await page.evaluateAndArrive(`location.href = '${second}'`)
    assert.equal(page.requests.find(({ url }) => url === second).referrer, first)
    await assert.rejects(assertClean(page), assert.AssertionError)
  })

  test('reports nothing for a clean page', async (t) => {
    const page = await browser.open()
    await page.visit(await startForeignSite(t, '<meta name="referrer" content="no-referrer"><p>Hello'))
    await assertClean(page)
  })

  test('does not share cookies between profiles', async (t) => {
    const site = await startForeignSite(t, '<p>Hello')
    const [first, second] = [await browser.open(), await browser.open()]
    const same = await browser.open({ profile: first.profile })
    await first.visit(site)
    await first.evaluate(`document.cookie = 'mine=1'`)
    for (const page of [second, same]) await page.visit(site)
    assert.equal(await second.evaluate('document.cookie'), '')
    assert.equal(await same.evaluate('document.cookie'), 'mine=1')
  })
})
