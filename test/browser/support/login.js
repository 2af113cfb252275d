import assert from 'node:assert/strict'
import { oauth } from 'tenon/auth/client'
import { connect } from 'tenon/client'
import { replaceOpener } from './opener.js'
import { looks } from './page.js'

/**
 * Connects a client until the browser shows the first page.
 *
 * @returns `connecting` resolves with the client once the user has agreed; `page` is the tab; `start` the URL that the
 *   client opened; `redirect` the URL where the client waits.
 */
export async function begin(t, browser, url, { revision, auth = {}, profile } = {}) {
  const { opened } = await replaceOpener(t)
  const connecting = connect(url, { revision, auth: oauth({ clientName: 'Notebook', ...auth }) })
  const tooEarly = connecting.then(() => assert.fail('nobody had to log in'))
  const start = await Promise.race([opened(), tooEarly])
  tooEarly.catch(() => {})
  const { redirect_uri: redirect, state } = Object.fromEntries(new URL(start).searchParams)
  t.after(async () => {
    // Ends a login that the test left open; otherwise nothing listens there any more.
    await fetch(`${redirect}?error=access_denied&state=${state}`).catch(() => {})
    await connecting.then((client) => client.close()).catch(() => {})
  })
  const page = await browser.open({ profile })
  await page.visit(start)
  return { connecting, page, start, redirect }
}

/** Presses the button with this name by keyboard and waits for the next page. */
export async function choose(page, name) {
  await page.tabTo('button', name)
  await page.pressAndArrive('Enter')
}

/** Returns the result of the tool after the login. */
export async function whoami({ page, connecting }) {
  // Checked first, because a client without a redirect would wait for minutes.
  assert.match(await page.text(), /Authorization granted/)
  return (await (await connecting).callTool('whoami')).text
}

/** Asserts that the page does not overflow horizontally, also on a phone. */
export async function assertFits(page) {
  for (const look of Object.keys(looks)) {
    await page.look(look)
    assert.equal(await page.isTooWide(), false, look)
  }
  await page.look('light')
}
