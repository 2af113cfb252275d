import assert from 'node:assert/strict'
import { oauth } from 'tenon/auth/client'
import { connect } from 'tenon/client'
import { replaceOpener } from './opener.js'
import { looks } from './page.js'

/**
 * Lets a client connect, up to where the browser shows the first page.
 *
 * @returns `connecting` is the client once the user has agreed; `page` the tab; `start` what the client asked the system to
 *   open; `redirect` where the client waits.
 */
export async function begin(t, browser, url, { revision, auth = {}, profile } = {}) {
  const { opened } = await replaceOpener(t)
  const connecting = connect(url, { revision, auth: oauth({ clientName: 'Notebook', ...auth }) })
  const tooEarly = connecting.then(() => assert.fail('nobody had to log in'))
  const start = await Promise.race([opened(), tooEarly])
  tooEarly.catch(() => {})
  const { redirect_uri: redirect, state } = Object.fromEntries(new URL(start).searchParams)
  t.after(async () => {
    // Ends the login of a test that went elsewhere; otherwise nobody listens any more.
    await fetch(`${redirect}?error=access_denied&state=${state}`).catch(() => {})
    await connecting.then((client) => client.close()).catch(() => {})
  })
  const page = await browser.open({ profile })
  await page.visit(start)
  return { connecting, page, start, redirect }
}

/** Presses what is called so, by keyboard, and waits for the page that it leads to. */
export async function choose(page, name) {
  await page.tabTo('button', name)
  await page.pressAndArrive('Enter')
}

/** What the tool says once the browser is back. */
export async function whoami({ page, connecting }) {
  // First, because a client that nobody came back to would wait for minutes.
  assert.match(await page.text(), /Authorization granted/)
  return (await (await connecting).callTool('whoami')).text
}

/** Nothing of the page is beyond the edge, on a phone neither. */
export async function assertFits(page) {
  for (const look of Object.keys(looks)) {
    await page.look(look)
    assert.equal(await page.isTooWide(), false, look)
  }
  await page.look('light')
}
