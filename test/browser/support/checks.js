import assert from 'node:assert/strict'
import { findChromium } from './chromium.js'

/** Why nothing can be tested here, or false. */
export const skip = skipReason()

/**
 * No script ran, the browser found nothing wrong with any page, nothing left this machine, and no site was told which page
 * came before it.
 *
 * @param allowed What the browser may complain of.
 */
export async function assertClean(page, allowed = []) {
  // What the browser has to report so far comes before its answer.
  await page.evaluate('undefined')
  assert.deepEqual(page.scripts, [])
  const wrong = page.complaints.filter((text) => !allowed.some((pattern) => pattern.test(text)))
  assert.deepEqual(wrong, [])
  for (const { url, referrer } of page.requests) {
    assert.match(new URL(url).hostname, /^(127\.0\.0\.1|localhost)$/)
    assert.equal(referrer, undefined)
  }
}

function skipReason() {
  if (process.platform === 'win32') return 'the browser is driven over pipes that Windows has not'
  if (findChromium() === undefined) {
    return 'there is no Chromium: install it (apt-get install chromium), or name it in CHROMIUM'
  }
  return false
}
