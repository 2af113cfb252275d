import assert from 'node:assert/strict'
import { until } from './tab.js'

/** Connects a server in the dialog. */
export async function connect(tab, target) {
  await noDialog(tab)
  await tab.press('c')
  await tab.fill('textbox', 'URL or command', target)
  await tab.click('button', 'Connect')
  await noDialog(tab)
  await tab.see('15 tools')
}

/** Chooses each entry of the menu and returns what it copied. */
export async function copyAll(tab) {
  await tab.page.evaluate(
    `window.copied = []; navigator.clipboard.writeText = async (text) => { window.copied.push(text) }; undefined`,
  )
  const names = ['curl', 'tenon command', 'TypeScript']
  for (const name of names) {
    await tab.click('button', /^Copy as/)
    await tab.click('button', name)
  }
  await tab.click('button', /^Copy as/)
  const copied = await until(async () => {
    const all = await tab.page.evaluate('window.copied')
    assert.equal(all.length, names.length)
    return all
  })
  return Object.fromEntries(names.map((name, index) => [name, copied[index]]))
}

/** Runs an action that saves a file, and returns its name and text. */
export async function savedBy(tab, action) {
  await tab.page.evaluate(`window.saved = {}
    URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved.text = text }); return 'blob:none' }
    HTMLAnchorElement.prototype.click = function () { window.saved.name = this.download }; undefined`)
  await action()
  return until(async () => {
    const saved = await tab.page.evaluate('window.saved')
    assert.ok(saved.name && saved.text !== undefined)
    return saved
  })
}

/** Chooses a tool and calls it without arguments. */
export async function call(tab, name) {
  await tab.choose(new RegExp(`^${name}`))
  await tab.click('button', /^Call/)
}

/** Waits until no dialog is open. */
export async function noDialog(tab) {
  await until(async () => assert.equal(await tab.page.evaluate(`document.querySelector('dialog') === null`), true))
}
