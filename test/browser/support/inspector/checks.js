import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** Notes of the browser about its autofill, which the fields of the inspector do not need. */
const allowed = [/FormEmptyIdAndNameAttributesForInputError|FormInputAssignedAutocompleteValue|FormLabel/]

/** Asserts that the page made requests to its backend only, and that the browser reported nothing. */
export async function assertQuiet({ page }) {
  // Reports that are still pending arrive before this response.
  await page.evaluate('undefined')
  const origin = await page.evaluate('location.origin')
  for (const { url, referrer } of page.requests) {
    // The browser draws its own buttons for audio from data URLs.
    assert.ok(
      [`${origin}/`, `blob:${origin}/`, 'data:image/'].some((start) => url.startsWith(start)),
      url,
    )
    assert.equal(referrer, undefined)
  }
  const wrong = page.complaints.filter((text) => !allowed.some((pattern) => pattern.test(text)))
  assert.deepEqual(wrong, [])
}

/** Asserts that axe-core finds no serious fault, in both themes or in other looks of the driver. */
export async function assertAccessible({ page }, looks = ['light', 'dark']) {
  // As the driver evaluates it, the policy of the page does not apply.
  await page.evaluate(`${readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')}; undefined`)
  for (const look of looks) {
    await page.look(look)
    const faults = await page.evaluate(`axe.run().then(({ violations }) => violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => id + ': ' + nodes.map(({ html, any }) => html.slice(0, 200) + ' ' + (any[0]?.message ?? '')).join('\\n  ')))`)
    assert.deepEqual(faults, [], look)
  }
  await page.look('light')
}

/** Returns the positions of elements on the page, by name. */
export async function rectsOf({ page }, selectors) {
  const rects = {}
  for (const [name, selector] of Object.entries(selectors)) {
    const found = await page.evaluate(
      `document.querySelector(${JSON.stringify(selector)})?.getBoundingClientRect().toJSON()`,
    )
    assert.ok(found, `There is no ${selector}`)
    rects[name] = found
  }
  return rects
}
