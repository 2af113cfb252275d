import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { skip } from './support/checks.js'
import { call } from './support/inspector/actions.js'
import { assertQuiet } from './support/inspector/checks.js'
import { inspectorSuite } from './support/inspector/suite.js'
import { until } from './support/inspector/tab.js'

describe('a hostile server in the inspector', { skip }, () => {
  const open = inspectorSuite()
  const openHostile = (t) => open(t, 'hostile', { options: ['--revision', '2025-11-25'] })

  test('lists 5,000 tools, of which only the visible ones are drawn', async (t) => {
    const tab = await openHostile(t)
    await tab.see('5,000 tools')
    await tab.page.visit(await tab.page.url())
    const ms = await tab.page.evaluate(`new Promise((resolve) => {
      const look = () => document.body.innerText.includes('5,000 tools') ? resolve(performance.now()) : requestAnimationFrame(look)
      look()
    })`)
    t.diagnostic(`5,000 tools were listed ${Math.round(ms)} ms after the page was opened`)
    const drawn = await tab.page.evaluate(`document.querySelectorAll('.workspace [role=option]').length`)
    assert.ok(drawn < 60, String(drawn))
    await tab.press('/')
    await tab.type('tool-4999')
    await tab.see('1 of 5,000 tools')
    await tab.press('ArrowDown')
    await tab.see('Tool number 4999', '.detail')
    await assertQuiet(tab)
  })

  test('cannot run or hide anything by names, schemas and results', async (t) => {
    const tab = await openHostile(t)
    await tab.see('5,000 tools')
    await tab.choose(/^<img src=x/)
    await tab.see('U+202E', '.detail')
    await tab.see('<script>window.owned=1</script>', '.detail')
    await tab.click('button', /^Call/)
    await tab.see('done', '.operation')
    await tab.see('U+001B', '.operation')
    await call(tab, 'markdown')
    await tab.see('javascript:window.owned=1', '.markdown')
    assert.equal(await tab.page.evaluate(`document.querySelectorAll('.markdown :is(img, iframe, script)').length`), 0)
    const links = `[...document.querySelectorAll('.markdown a')].map((link) => link.href)`
    assert.deepEqual(await tab.page.evaluate(links), ['https://evil.example/?a=1'])
    await call(tab, 'media')
    await tab.see('An MCP App', '.operation')
    await tab.see('is not base64', '.operation')
    await tab.click('button', 'Overview')
    await tab.see('U+202E', '.overview')
    assert.equal(await tab.page.evaluate('window.owned'), undefined)
    await assertQuiet(tab)
  })

  test('cannot break the page with its questions', async (t) => {
    const tab = await openHostile(t)
    await tab.see('5,000 tools')
    await call(tab, 'ask')
    await tab.see('U+202E', '.question-card')
    await tab.see('done', '.operation')
    await tab.choose(/^calm/)
    await tab.see('Tool number 4', '.detail')
    const links = `document.querySelectorAll('.question-card a').length`
    assert.equal(await tab.page.evaluate(links), 0)
    assert.equal(await tab.page.evaluate('window.owned'), undefined)
    await assertQuiet(tab)
  })

  test('sends 10 MB, which are shortened until the user asks for all', async (t) => {
    const tab = await openHostile(t)
    await tab.see('5,000 tools')
    await call(tab, 'huge')
    await tab.see('Show all (10.5 MB)', '.operation')
    await tab.see('10.5 MB', '.wire')
    const shown = `document.querySelector('.operation pre').textContent.length`
    assert.equal(await tab.page.evaluate(shown), 256 * 1024)
    await tab.click('button', 'Show all (10.5 MB)')
    await until(async () => assert.equal(await tab.page.evaluate(shown), 10 * 1024 * 1024))
    await tab.choose(/tools\/call\s*result/)
    await tab.see('Shortened: the message has 10.5 MB', '.message-detail')
    await tab.click('button', 'Show all', { nth: 0 })
    await tab.seeNot('Shortened: the message', '.message-detail')
    await call(tab, 'huge-control')
    await tab.see('Show all (2.1 MB)', '.operation')
    const elements = await tab.page.evaluate(`document.querySelectorAll('.operation pre span').length`)
    assert.ok(elements < 10_000, String(elements))
    await call(tab, 'deep')
    await tab.see(/done|failed/, '.operation')
    await call(tab, 'calm')
    await tab.see('Calm', '.operation')
    await assertQuiet(tab)
  })

  test('floods the page, which stays usable', async (t) => {
    const tab = await openHostile(t)
    await tab.see('5,000 tools')
    await call(tab, 'flood')
    await tab.see('As you wish', '.operation')
    await tab.see(/[\d,]{5,} messages/, '.wire')
    await tab.click('button', 'Logs')
    await tab.see(/[\d,]{5,} lines/, '.logs')
    const worst = await tab.page.evaluate(`new Promise((resolve) => {
      let worst = 0, last = performance.now(), frames = 0
      const next = (now) => { worst = Math.max(worst, now - last); last = now; ++frames < 60 ? requestAnimationFrame(next) : resolve(worst) }
      requestAnimationFrame(next)
    })`)
    t.diagnostic(`the longest of 60 frames during the flood took ${Math.round(worst)} ms`)
    await tab.click('button', /^Tools/)
    await call(tab, 'calm')
    await tab.see('Calm', '.operation')
    assert.equal(await tab.page.evaluate('window.owned'), undefined)
    await assertQuiet(tab)
  })

  test('leaves 100,000 messages, which are searched and scrolled', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'inspector-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'long.json')
    writeFileSync(file, JSON.stringify(longTranscript(100_000)))
    const tab = await open(t, 'none')
    await tab.upload('.top-bar input[type=file]', [file])
    await tab.see('100,000 messages', '.wire')
    const drawn = await tab.page.evaluate(`document.querySelectorAll('.wire [role=option]').length`)
    assert.ok(drawn < 80, String(drawn))
    await tab.press('w')
    await tab.press('End')
    await tab.see('tool-49999', '.wire')
    await tab.press('Home')
    await tab.see('tool-0', '.wire')
    await tab.fill('searchbox', 'Search messages', 'needle-31415!')
    await tab.see('1 message', '.wire')
    await tab.click('button', 'diagram')
    await tab.see('tool-31415', '.diagram')
    await tab.fill('searchbox', 'Search messages', '')
    await tab.see('Messages 99901 to 100000 of 100000', '.diagram')
    await assertQuiet(tab)
  })
})

function longTranscript(messages) {
  const events = [
    {
      seq: 1,
      at: 0,
      kind: 'server-added',
      server: 's',
      name: 'long',
      address: 'x',
      transport: 'stdio',
      revision: null,
    },
    { seq: 2, at: 0, kind: 'server-state', server: 's', state: 'ready', revision: '2026-07-28' },
  ]
  for (let index = 0; index < messages / 2; index++) {
    const at = 1_700_000_000_000 + index
    const request = {
      jsonrpc: '2.0',
      id: index,
      method: 'tools/call',
      params: { name: `tool-${index}`, note: `needle-${index}!` },
    }
    const result = { jsonrpc: '2.0', id: index, result: { content: [] } }
    const base = { kind: 'message', server: 's', bytes: 100 }
    events.push({ ...base, seq: events.length + 1, at, direction: 'sent', message: request })
    events.push({ ...base, seq: events.length + 1, at: at + 0.5, direction: 'received', message: result })
  }
  return { format: 'tenon-inspector', version: 1, events }
}
