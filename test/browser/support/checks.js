import assert from 'node:assert/strict'
import { findChromium } from './chromium.js'

/** Why the tests are skipped, or false. */
export const skip = skipReason()

/**
 * Asserts that no script ran, the browser reported no problem, no request left this machine, and no site got a
 * referrer.
 *
 * @param allowed Problems that the browser may report.
 */
export async function assertClean(page, allowed = []) {
  // Reports that are still pending arrive before this response.
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
