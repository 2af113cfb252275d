import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startBrokeredVault } from './support/brokered.js'
import { assertClean, skip } from './support/checks.js'
import { startChromium } from './support/chromium.js'
import { assertFits, begin, choose, whoami } from './support/login.js'
import { startForeignSite } from './support/vault.js'

// Logins through a broker: its consent page, then the page of the provider, then back through the broker to the client.

describe('a login through the broker', { skip }, () => {
  let browser
  before(async () => {
    browser = await startChromium()
  })
  after(() => browser?.close())

  for (const revision of ['2025-11-25', '2026-07-28']) {
    test(`works with the keyboard only, and the tool can be called (${revision})`, async (t) => {
      const { url, provider } = await startBrokeredVault(t)
      const login = await begin(t, browser, url, { revision })
      const { page, redirect } = login
      const text = await page.text()
      for (const said of ['Notebook', 'Read your notes', redirect]) assert.ok(text.includes(said), text)
      await choose(page, 'Allow')
      assert.equal(new URL(await page.url()).origin, provider.issuer)
      await choose(page, 'Allow')
      assert.equal(await whoami(login), 'alice may read')
      assert.equal((await login.connecting).revision, revision)
      await assertClean(page)
    })
  }

  test('works with a provider on another site', async (t) => {
    const { url } = await startBrokeredVault(t, { host: 'localhost' })
    const { connecting, page } = await begin(t, browser, url)
    await choose(page, 'Allow')
    await choose(page, 'Allow')
    assert.equal(await whoami({ page, connecting }), 'alice may read')
    await assertClean(page)
  })

  test('works with a provider that knows the user already and shows no page', async (t) => {
    const { url } = await startBrokeredVault(t, { host: 'localhost', login: 'auto' })
    const { connecting, page } = await begin(t, browser, url)
    await choose(page, 'Allow')
    assert.equal(await whoami({ page, connecting }), 'alice may read')
    await assertClean(page)
  })

  test('redirects to an application with a custom URL scheme', async (t) => {
    const { url, origin } = await startBrokeredVault(t)
    // Two tabs: a tab that asks whether to open the application waits for an answer.
    const [refused, granted] = [await browser.open(), await browser.open()]
    await refused.visit(await requestOf(origin, url, 'com.example.app:/callback'))
    await refused.tabTo('button', 'Deny')
    const refusal = await refused.pressAndAsk('Enter', 'com.example.app:')
    assert.equal(new URL(refusal).searchParams.get('error'), 'access_denied')
    await granted.visit(await requestOf(origin, url, 'com.example.app:/callback'))
    await choose(granted, 'Allow')
    await granted.tabTo('button', 'Allow')
    const answer = await granted.pressAndAsk('Enter', 'com.example.app:')
    assert.ok(new URL(answer).searchParams.has('code'))
  })

  test('reports that the provider is unavailable, and leads back from there', async (t) => {
    const { url, provider } = await startBrokeredVault(t)
    const { connecting, page } = await begin(t, browser, url)
    await provider.close()
    await choose(page, 'Allow')
    assert.match(await page.text(), /Sign-in with .* failed/)
    await page.shoot('broker-provider-down')
    await assertFits(page)
    await page.tabTo('link', 'Go back to Notebook')
    await page.pressAndArrive('Enter')
    assert.match(await page.text(), /Authorization was not granted/)
    await assert.rejects(connecting, ({ cause }) => /server_error/.test(cause?.message))
    await assertClean(page, [/status of 502/])
  })

  test('can be denied on the page of the broker, without a request to the provider', async (t) => {
    const { url, provider } = await startBrokeredVault(t)
    const { connecting, page } = await begin(t, browser, url)
    await choose(page, 'Deny')
    assert.match(await page.text(), /Authorization was not granted/)
    await assert.rejects(connecting, ({ cause }) => /access_denied/.test(cause?.message))
    assert.deepEqual(visits(provider), [])
    await assertClean(page)
  })

  test('can be denied on the page of the provider', async (t) => {
    const { url } = await startBrokeredVault(t)
    const { connecting, page } = await begin(t, browser, url)
    await choose(page, 'Allow')
    await choose(page, 'Deny')
    await assertClean(page)
    await page.shoot('broker-provider-denied')
    await assert.rejects(connecting, ({ cause }) => /access_denied/.test(cause?.message))
  })

  test('asks for consent every time, even if the user has agreed before', async (t) => {
    const { url } = await startBrokeredVault(t)
    const first = await begin(t, browser, url)
    await choose(first.page, 'Allow')
    await choose(first.page, 'Allow')
    await first.connecting
    const second = await begin(t, browser, url, { profile: first.page.profile })
    assert.match(await second.page.text(), /Read your notes/)
    assert.equal(await second.page.url(), second.start)
  })

  test('can run in two tabs at once', async (t) => {
    const { url } = await startBrokeredVault(t)
    const first = await begin(t, browser, url)
    const second = await begin(t, browser, url, { profile: first.page.profile })
    for (const { page } of [first, second]) await choose(page, 'Allow')
    for (const { page } of [second, first]) await choose(page, 'Allow')
    for (const login of [first, second]) assert.equal(await whoami(login), 'alice may read')
  })

  test('shows the name of a client as text, without running scripts in it', async (t) => {
    const { url } = await startBrokeredVault(t)
    const clientName = `<script>document.title = 'owned'</script><img src=x onerror="document.title = 'owned'">"'&amp;`
    const { page } = await begin(t, browser, url, { auth: { clientName } })
    assert.ok((await page.text()).includes(clientName))
    assert.notEqual(await page.title(), 'owned')
    await assertFits(page)
    await page.shoot('broker-hostile')
    await assertClean(page)
  })

  test('cannot be embedded in a page of another site', async (t) => {
    const { url } = await startBrokeredVault(t)
    const { start } = await begin(t, browser, url)
    const other = await browser.open()
    await other.visit(await startForeignSite(t, `<iframe src="${start.replaceAll('&', '&amp;')}"></iframe>`))
    assert.deepEqual(await other.frames(), ['chrome-error://chromewebdata/'])
  })

  for (const [who, host] of Object.entries({
    'another site': 'localhost',
    'another port of the same machine': '127.0.0.1',
  })) {
    test(`cannot be approved by a form sent by ${who}`, async (t) => {
      const { url, provider } = await startBrokeredVault(t)
      const victim = await begin(t, browser, url)
      const attacker = await begin(t, browser, url)
      const { action, fields } = await formOf(attacker.page)
      // The form shown to the attacker, and the form shown to the victim, in case the attacker knows it.
      for (const shown of [fields, (await formOf(victim.page)).fields]) {
        const tab = await browser.open({ profile: victim.page.profile })
        await tab.visit(await startForeignSite(t, formText(action, { ...shown, ...agreed }), host))
        await tab.evaluateAndArrive('document.forms[0].submit()')
        assert.ok([400, 403].includes(tab.requests.findLast(({ url }) => url === action).status))
        assert.equal(new URL(await tab.url()).origin, new URL(action).origin)
        await tab.shoot('broker-forged')
        await assertFits(tab)
      }
      assert.deepEqual(visits(provider), [])
    })
  }

  test('can be completed only in the browser that started it (CVE-2026-27124)', async (t) => {
    const { url, provider } = await startBrokeredVault(t)
    const attacker = await begin(t, browser, url)
    await choose(attacker.page, 'Allow')
    const victim = await browser.open()
    await victim.visit(await attacker.page.url())
    await choose(victim, 'Allow')
    assert.equal(new URL(await victim.url()).origin, new URL(url).origin)
    assert.ok([400, 403].includes(victim.requests.findLast(({ url }) => url.includes('code=')).status))
    assert.equal(sentTo(provider, 'token').length, 0)
    await victim.shoot('broker-other-browser')
    await assertFits(victim)
    await assertClean(victim, [/status of 40[03]/])
  })

  test('has pages that fit on a phone', async (t) => {
    const { url } = await startBrokeredVault(t)
    const { page, start } = await begin(t, browser, url, { auth: { scopes: ['write'] } })
    const error = await browser.open()
    await error.visit(start.replace(/client_id=[^&]*/, 'client_id=nobody'))
    await assertFits(error)
    await error.shoot('broker-error')
    await page.tabTo('button', 'Allow')
    await assertFits(page)
    await page.shoot('broker-consent')
  })
})

const agreed = { decision: 'allow' }

function visits(provider) {
  return sentTo(provider, 'authorize')
}

function sentTo(provider, endpoint) {
  return provider.requests.filter((request) => request.endpoint === endpoint)
}

/** Registers a client with this redirect URL and returns its authorization URL. */
async function requestOf(origin, resource, redirect) {
  const registration = await fetch(`${origin}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'App', redirect_uris: [redirect], token_endpoint_auth_method: 'none' }),
  })
  const { client_id } = await registration.json()
  const challenge = { code_challenge: 'a'.repeat(43), code_challenge_method: 'S256' }
  const params = { response_type: 'code', client_id, redirect_uri: redirect, state: 'any', resource, ...challenge }
  return `${origin}/authorize?${new URLSearchParams(params)}`
}

/** Returns the action and the fields of the form of a page. */
async function formOf(page) {
  return page.evaluate(
    '({ action: document.forms[0].action, fields: Object.fromEntries(new FormData(document.forms[0])) })',
  )
}

function formText(action, fields) {
  const inputs = Object.entries(fields).map(([name, value]) => `<input type="hidden" name="${name}" value="${value}">`)
  return `<form method="post" action="${action}">${inputs.join('')}</form>`
}
