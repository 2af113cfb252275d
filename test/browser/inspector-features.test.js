import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { skip } from './support/checks.js'
import { call, connect } from './support/inspector/actions.js'
import { assertQuiet } from './support/inspector/checks.js'
import { serverCommand, serverFile, startHttpServer } from './support/inspector/inspector.js'
import { inspectorSuite } from './support/inspector/suite.js'
import { until } from './support/inspector/tab.js'

describe('servers in the inspector', { skip }, () => {
  const open = inspectorSuite()

  test('are connected by command, URL and config file, side by side, on any revision', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'inspector-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const configured = { command: process.execPath, args: [serverFile('showcase')] }
    writeFileSync(join(folder, 'mcp.json'), JSON.stringify({ mcpServers: { 'from-config': configured } }))
    const tab = await open(t, 'none', { cwd: folder })
    await tab.click('button', '+ Connect')
    await tab.click('button', 'from-config')
    await tab.see('15 tools')
    await connect(tab, serverCommand('showcase'))
    await tab.press('c')
    await tab.fill('textbox', 'URL or command', await startHttpServer(t, 'showcase'))
    await tab.set('combobox', 'Revision', '2025-03-26')
    await tab.fill('textbox', 'Headers, one per line', 'X-Tenant: acme')
    await tab.click('button', 'Connect')
    await tab.see('2025-03-26 · http', '.servers')
    assert.equal(await tab.page.evaluate(`document.querySelectorAll('.server').length`), 3)
    await tab.click('button', 'Overview')
    await tab.see('2025-03-26 (chosen)', '.overview')
    await tab.see('Call add first.', '.overview')
    await tab.click('button', 'Ping')
    await tab.see('✓ done', '.overview .operation')
    await tab.click('button', 'Disconnect')
    await tab.see('closed', '.overview')
    await tab.click('button', 'Connect again')
    await tab.see('ready', '.overview')
    await tab.click('button', 'Remove')
    await until(async () => assert.equal(await tab.page.evaluate(`document.querySelectorAll('.server').length`), 2))
    await assertQuiet(tab)
  })

  test('are connected from the empty page, also on a phone', async (t) => {
    const tab = await open(t, 'none', { look: 'phone' })
    await tab.click('button', 'Connect a server')
    await tab.fill('textbox', 'URL or command', serverCommand('showcase'))
    await tab.click('button', 'Connect')
    await tab.see('15 tools')
  })

  test('are connected over HTTP+SSE if the user chooses it', async (t) => {
    const tab = await open(t, 'none')
    await tab.press('c')
    await tab.fill('textbox', 'URL or command', (await startHttpServer(t, 'showcase')).replace('/mcp', '/sse'))
    await tab.click('checkbox', /^HTTP\+SSE/)
    await tab.click('button', 'Connect')
    await tab.see('· sse', '.servers')
    await tab.see('15 tools')
    await call(tab, 'fail')
    await tab.see('It is broken', '.operation')
  })

  test('that cannot be reached show why', async (t) => {
    const tab = await open(t, 'none')
    await tab.press('c')
    await tab.fill('textbox', 'URL or command', 'http://127.0.0.1:9/mcp')
    await tab.click('button', 'Connect')
    await tab.see('failed', '.servers')
    await until(async () => assert.notEqual(await tab.text('.error-view'), ''))
  })

  test('have resources that are read, subscribed to and completed [RES-036] [COMP-013]', async (t) => {
    const tab = await open(t)
    await tab.click('button', /^Resources/)
    await tab.choose(/^readme/)
    await tab.see('Buy milk.', '.operation')
    await tab.click('button', 'Subscribe')
    await tab.see('live · 0 updates', '.detail')
    await tab.click('button', /^Tools/)
    await call(tab, 'touch')
    await tab.see('Touched', '.operation')
    await tab.click('button', /^Resources/, { nth: 0 })
    await tab.see('live · 1 updates', '.detail')
    await tab.click('button', 'Unsubscribe')
    await tab.seeNot('live ·', '.detail')
    await tab.choose(/^view/)
    await tab.see('An MCP App. This is its source', '.operation')
    await tab.see('<script>alert(1)</script>', '.operation')
    await tab.choose(/^day/)
    await tab.fill('combobox', 'day', 't')
    const options = `[...document.querySelectorAll('datalist option')].map((each) => each.value)`
    await until(async () => assert.deepEqual(await tab.page.evaluate(options), ['tuesday', 'thursday']))
    await tab.fill('combobox', 'day', 'tuesday')
    await tab.see('notes://day/tuesday', '.detail')
    await tab.click('button', 'Read')
    await tab.see('The note of tuesday', '.operation')
    await assertQuiet(tab)
  })

  test('have resources that are read by the first click or Enter, not by arrow keys or a second click', async (t) => {
    const tab = await open(t)
    const reads = `[...document.querySelectorAll('.wire .virtual-row')].filter((row) => /^→\\s*resources\\/read/.test(row.innerText)).length`
    await tab.click('button', /^Resources/)
    await tab.see('1 template', '.list-head')
    await tab.press('/')
    await tab.press('ArrowDown')
    await tab.press('ArrowDown')
    await until(async () => assert.equal((await tab.page.focused())?.role, 'listbox'))
    assert.equal(await tab.page.evaluate(reads), 0)
    await tab.press('Enter')
    await until(async () => assert.equal(await tab.page.evaluate(reads), 1))
    await tab.see('✓ done', '.operation')
    await tab.choose(/^readme/)
    await tab.see('Buy milk.', '.operation')
    const before = await tab.page.evaluate(reads)
    await tab.choose(/^day/)
    await tab.see('notes://day/', '.detail')
    await tab.choose(/^readme/)
    await tab.see('Buy milk.', '.operation')
    assert.equal(await tab.page.evaluate(reads), before)
    await tab.click('button', 'Read')
    await until(async () => assert.equal(await tab.page.evaluate(reads), before + 1))
    await assertQuiet(tab)
  })

  test('have templates among the resources, which the search finds too', async (t) => {
    const tab = await open(t)
    await tab.click('button', /^Resources/)
    const rows = `[...document.querySelectorAll('.list-side .item-row')].map((row) => row.innerText.split('\\n')[0])`
    await until(async () => assert.deepEqual((await tab.page.evaluate(rows)).slice(-1), ['day']))
    await tab.fill('searchbox', 'Search resources', 'day')
    await until(async () => assert.deepEqual(await tab.page.evaluate(rows), ['day']))
    await tab.see('template', '.list-side .item-badges')
    await tab.choose(/^day/)
    await tab.see('notes://day/', '.detail')
    await assertQuiet(tab)
  })

  test('have prompts that are completed [PROMPT-023] [COMP-013]', async (t) => {
    const tab = await open(t)
    await tab.click('button', /^Prompts/)
    await tab.choose(/^review/)
    await tab.fill('combobox', /^language/, 'ty')
    const options = `[...document.querySelectorAll('datalist option')].map((each) => each.value)`
    await until(async () => assert.deepEqual(await tab.page.evaluate(options), ['typescript']))
    await tab.fill('combobox', /^language/, 'typescript')
    await tab.press('Enter', { ctrl: true })
    await tab.see('Review this typescript code', '.operation')
    await assertQuiet(tab)
  })

  test('write logs that are shown with their severity, kept, and filtered by level and text [LOG-014]', async (t) => {
    const tab = await open(t, 'showcase', { options: ['--revision', '2025-11-25'] })
    await tab.see('15 tools')
    await tab.click('button', 'Logs')
    await tab.set('combobox', 'Request', 'debug')
    await tab.see(/logging\/setLevel\s*result/, '.wire')
    await tab.click('button', /^Tools/)
    await call(tab, 'chatter')
    await tab.see('Logged', '.operation')
    await tab.click('button', 'Logs')
    await tab.see('A detail', '.logs')
    await tab.see('The showcase started', '.logs')
    await tab.set('combobox', 'Show', 'error and above')
    await tab.seeNot('It is late', '.logs')
    await tab.see('It is too late', '.logs')
    await tab.set('combobox', 'Show', 'debug and above')
    await tab.press('/')
    await tab.type('is late')
    await tab.see('1 line', '.logs')
    await assertQuiet(tab)
  })

  test('are usable on a narrow screen, one column at a time', async (t) => {
    const tab = await open(t, 'showcase', { look: 'phone' })
    await tab.choose(/^Add/)
    await tab.click('button', 'Wire')
    await tab.see('server/discover', '.wire')
    await tab.click('button', 'Servers')
    await tab.click('button', /^Showcase/)
    await tab.see('Adds two numbers', '.detail')
    assert.equal(await tab.page.isTooWide(), false)
  })

  test('appear in the colours that the user chose', async (t) => {
    const tab = await open(t)
    const background = () => tab.page.evaluate(`getComputedStyle(document.body).backgroundColor`)
    assert.equal(await background(), 'rgb(255, 255, 255)')
    await tab.set('combobox', 'Colours', 'dark')
    await until(async () => assert.equal(await background(), 'rgb(21, 23, 27)'))
    await tab.set('combobox', 'Colours', 'system')
  })
})
