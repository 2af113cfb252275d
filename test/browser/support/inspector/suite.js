import { after, before } from 'node:test'
import { startChromium } from '../chromium.js'
import { serverFile, startInspector } from './inspector.js'
import { InspectorTab } from './tab.js'

/** Starts one browser for the tests of a file. Returns a function that opens the inspector for a server of the tests. */
export function inspectorSuite() {
  let browser
  before(async () => {
    browser = await startChromium()
  })
  after(() => browser?.close())
  return async (t, name = 'showcase', { options, cwd, url, ...look } = {}) => {
    if (url !== undefined) return InspectorTab.open(browser, url, look)
    const target = name === 'none' ? [] : [process.execPath, serverFile(name)]
    return InspectorTab.open(browser, await startInspector(t, target, { options, cwd }), look)
  }
}
