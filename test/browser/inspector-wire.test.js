import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { skip } from './support/checks.js'
import { call, connect, savedBy } from './support/inspector/actions.js'
import { assertQuiet } from './support/inspector/checks.js'
import { startHttpServer } from './support/inspector/inspector.js'
import { inspectorSuite } from './support/inspector/suite.js'
import { until } from './support/inspector/tab.js'

describe('the wire of the inspector', { skip }, () => {
  const open = inspectorSuite()

  test('shows every message, and filters and searches them', async (t) => {
    const tab = await open(t)
    await call(tab, 'chatter')
    await tab.see('Logged', '.operation')
    await tab.see('tools/call chatter', '.wire')
    await tab.set('combobox', 'Kind of message', 'responses')
    await tab.seeNot('tools/call chatter', '.wire')
    await tab.see('tools/call result', '.wire')
    await tab.set('combobox', 'Kind of message', 'all kinds')
    await tab.set('combobox', 'Direction', '→ sent')
    await tab.seeNot('result', '.wire .virtual-list')
    await tab.set('combobox', 'Direction', 'both directions')
    await tab.press('w')
    await tab.fill('searchbox', 'Search messages', 'CHATTER')
    await tab.see(/\d messages/, '.wire')
    await tab.seeNot('server/discover', '.wire .virtual-list')
    await assertQuiet(tab)
  })

  test('says why there are no HTTP exchanges with a program', async (t) => {
    const tab = await open(t)
    await tab.see('15 tools')
    await tab.click('button', 'HTTP')
    await tab.see('No HTTP exchanges', '.wire')
    await assertQuiet(tab)
  })

  test('shows a message with its HTTP exchange and its time, and replays it', async (t) => {
    const tab = await open(t, 'none')
    await connect(tab, await startHttpServer(t, 'showcase'))
    await tab.choose(/^Add/)
    await tab.fill('spinbutton', /^a/, '20')
    await tab.fill('spinbutton', /^b/, '22')
    await tab.press('Enter', { ctrl: true })
    await tab.see('sum: 42', '.operation')
    await tab.choose(/tools\/call\s*result/)
    await tab.see('ms after the request', '.message-detail')
    await tab.click('button', 'Request')
    await tab.see('arguments: { 2 members }', '.message-detail')
    await tab.click('button', 'headers')
    await tab.see('POST', '.http-detail')
    await tab.see('mcp-protocol-version', '.http-detail')
    await tab.see('200', '.http-detail')
    await tab.see('content-type', '.http-detail')
    await tab.click('button', 'Replay')
    await until(async () => assert.match(await tab.text('.runs'), /2 ·/))
    await tab.press('Escape')
    await until(async () => assert.equal(await tab.text('.message-detail'), ''))
    await tab.click('button', 'HTTP')
    await tab.choose(/^POST/)
    await tab.see('Response headers', '.http-detail')
    await assertQuiet(tab)
  })

  test('draws the round trips of a call and the session as a sequence diagram', async (t) => {
    const tab = await open(t)
    await tab.choose(/^deploy/)
    await tab.click('button', /^Call/)
    await tab.click('button', 'Accept')
    await tab.see('is on staging', '.operation')
    await tab.click('button', 'Round trips')
    const arrows = async () => tab.page.evaluate(`document.querySelectorAll('.diagram .arrow-line').length`)
    await until(async () => assert.equal(await arrows(), 4))
    await tab.see('input_required', '.diagram')
    await tab.click('button', /→ tools\/call deploy/, { nth: 1 })
    await tab.see('inputResponses', '.message-detail')
    await tab.click('button', /^only deploy/)
    await until(async () => assert.ok((await arrows()) > 8))
    await tab.see('server/discover', '.diagram')
    await assertQuiet(tab)
  })

  test('compares the same call on two revisions', async (t) => {
    const tab = await open(t)
    await tab.choose(/^deploy/)
    await tab.fill('textbox', /^app/, 'shop')
    await tab.click('button', 'Compare revisions…')
    await tab.set('combobox', 'Left', '2025-06-18')
    await tab.click('button', 'Run both')
    await tab.see('on two revisions', '.compare')
    for (const nth of [1, 0]) {
      await until(async () => assert.equal(await cards(tab), nth + 1))
      await tab.click('button', 'Accept', { nth: 0 })
    }
    await tab.see('elicitation/create', '.compare')
    await tab.see('inputResponses', '.compare')
    await tab.see(/\d+ lines differ/, '.compare')
    await tab.press('Escape')
    await tab.see('15 tools')
    await assertQuiet(tab)
  })

  test('is saved as a transcript, which opens without a server', async (t) => {
    const tab = await open(t)
    await tab.choose(/^Add/)
    await tab.fill('spinbutton', /^a/, '2')
    await tab.fill('spinbutton', /^b/, '3')
    await tab.press('Enter', { ctrl: true })
    await tab.see('sum: 5', '.operation')
    const saved = await savedBy(tab, () => tab.click('button', 'Save transcript'))
    assert.equal(saved.name, 'transcript.json')
    const folder = mkdtempSync(join(tmpdir(), 'inspector-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'session.json')
    writeFileSync(file, saved.text)

    const other = await open(t, 'none')
    await other.see('No server is connected')
    await other.upload('.top-bar input[type=file]', [file])
    await other.see(/Transcript\s+session\.json/)
    await other.choose(/^Add/)
    await other.see('sum: 5', '.operation')
    await other.see('tools/call result', '.wire')
    assert.equal(await other.page.evaluate(`document.querySelector('.tool button.primary').disabled`), true)
    await other.click('button', 'Back to live')
    await other.see('No server is connected')
    writeFileSync(file, '{"format":"other"}')
    await other.upload('.top-bar input[type=file]', [file])
    await other.see('Not a transcript', '.notices')
    await assertQuiet(other)
  })
})

async function cards(tab) {
  return tab.page.evaluate(`document.querySelectorAll('.question-card').length`)
}
