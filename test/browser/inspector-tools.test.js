import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { skip } from './support/checks.js'
import { connect, copyAll, savedBy } from './support/inspector/actions.js'
import { assertQuiet } from './support/inspector/checks.js'
import { startHttpServer } from './support/inspector/inspector.js'
import { inspectorSuite } from './support/inspector/suite.js'
import { until } from './support/inspector/tab.js'

describe('tools in the inspector', { skip }, () => {
  const open = inspectorSuite()

  test('are found with the keyboard, called, and answer with validated data', async (t) => {
    const tab = await open(t)
    await tab.see('15 tools')
    await tab.press('/')
    await tab.type('adds two')
    await tab.see('1 of 15 tools')
    await tab.press('ArrowDown')
    await tab.fill('spinbutton', /^a/, '1')
    await tab.fill('spinbutton', /^b/, '2')
    await tab.press('Enter', { ctrl: true })
    await tab.see('✓ valid against the output schema', '.operation')
    await tab.see('sum: 3', '.operation')
    await tab.see('tools/call result', '.wire')
    await assertQuiet(tab)
  })

  test('have a form for every kind of schema, in sync with the raw JSON', async (t) => {
    const tab = await open(t)
    await tab.choose(/^echo/)
    await tab.fill('textbox', /^text/, 'hello')
    await tab.fill('spinbutton', /^count/, '7')
    await tab.set('combobox', /^sure/, 'true')
    await tab.set('combobox', /^color/, '3')
    for (const name of ['version', 'maybe', 'place', 'tags', 'sizes', 'pair', 'shape', 'tree', 'labels']) {
      await tab.click('button', `Add ${name}`)
    }
    await tab.fill('textbox', /^maybe/, 'perhaps')
    await tab.set('Date', /^day/, '2026-01-31')
    await tab.fill('textbox', /^city/, 'Ulm')
    await tab.click('button', 'Add item', { nth: 0 })
    await tab.fill('textbox', /^tags\[0\]/, 'new')
    await tab.click('checkbox', 'm')
    await tab.fill('textbox', /^pair\[0\]/, 'one')
    await tab.fill('spinbutton', /^pair\[1\]/, '1')
    await tab.set('combobox', 'Variant of shape', 'Square')
    await tab.fill('spinbutton', /^side/, '4')
    await tab.fill('textbox', /^name/, 'root')
    await tab.click('button', 'Add children')
    await tab.click('button', 'Add item', { nth: 1 })
    await tab.fill('textbox', /^name/, 'root')
    await tab.click('button', 'Add property')
    await tab.fill('textbox', 'anything as JSON', '{"x": [1]}')
    const folder = mkdtempSync(join(tmpdir(), 'inspector-'))
    t.after(() => rmSync(folder, { recursive: true }))
    writeFileSync(join(folder, 'file.bin'), 'hi')
    await tab.upload('.arguments input[type=file]', [join(folder, 'file.bin')])
    await tab.see('2 B', '.arguments')
    await tab.press('j', { ctrl: true })
    const raw = JSON.parse(await until(() => tab.page.evaluate(`document.querySelector('.arguments textarea').value`)))
    assert.deepEqual(raw, {
      text: 'hello',
      ratio: 0.5,
      count: 7,
      sure: true,
      color: 3,
      version: 2,
      maybe: 'perhaps',
      place: { city: 'Ulm' },
      tags: ['new'],
      sizes: ['m'],
      pair: ['one', 1],
      shape: { kind: 'square', side: 4 },
      tree: { name: 'root', children: [{ name: '' }] },
      labels: { key1: '' },
      day: '2026-01-31',
      anything: { x: [1] },
      file: 'aGk=',
    })
    await tab.fill('textbox', /as JSON/, '{"text": "from JSON", "shape": {"kind": "circle", "radius": 2}}')
    await tab.press('j', { ctrl: true })
    await tab.see('radius', '.arguments')
    await tab.press('Enter', { ctrl: true })
    await tab.see('"text":"from JSON"', '.operation')
    await assertQuiet(tab)
  })

  test('keep arguments that are not JSON yet out of the call', async (t) => {
    const tab = await open(t)
    await tab.choose(/^Add/)
    await tab.click('button', '{ } raw')
    await tab.fill('textbox', /as JSON/, '{"a": 1, "b": ')
    await tab.see('Not JSON yet', '.arguments')
    await tab.fill('textbox', /as JSON/, '{"a": 1, "b": 4}')
    await tab.seeNot('Not JSON yet', '.arguments')
    await tab.click('button', /^Call/)
    await tab.see('sum: 5', '.operation')
  })

  test('take numbers as they are typed, digit by digit', async (t) => {
    const tab = await open(t)
    await tab.choose(/^Add/)
    await tab.fill('spinbutton', /^b/, '1')
    await tab.fill('spinbutton', /^a/, '')
    for (const char of '-0.05') await tab.type(char)
    await tab.press('Enter', { ctrl: true })
    await tab.see('sum: 0.95', '.operation')
  })

  test('answer with text, Markdown, images, audio, links and embedded resources', async (t) => {
    const tab = await open(t)
    await tab.choose(/^media/)
    await tab.click('button', /^Call/)
    await tab.see('Report', '.markdown h4')
    await tab.see('<script>alert(1)</script>', '.markdown')
    await tab.see('https://example.com/a?b=1', '.markdown')
    await tab.see('An embedded note', '.operation')
    await until(async () => {
      assert.equal(await tab.page.evaluate(`document.querySelector('.operation img').naturalWidth`), 10)
      assert.equal(await tab.page.evaluate(`document.querySelector('.operation audio').readyState > 0`), true)
    })
    await tab.click('button', 'Read')
    await tab.see('Buy milk', '.resource-link')
    await tab.click('button', 'Markdown', { nth: 0 })
    await tab.see('# Report', '.operation pre')
    await assertQuiet(tab)
  })

  test('show errors, progress and cancellation', async (t) => {
    const tab = await open(t)
    await tab.choose(/^fail/)
    await tab.click('button', /^Call/)
    await tab.see('✗ tool error', '.operation')
    await tab.see('It is broken', '.operation')
    await tab.choose(/^work/)
    await tab.click('button', /^Call/)
    await tab.see(/step \d/, '.progress')
    assert.equal(await tab.page.evaluate(`document.querySelector('.progress progress').max`), 10)
    await tab.click('button', 'Cancel')
    await tab.see('✗ failed', '.operation')
  })

  test('are copied as curl, as a command and as TypeScript, and saved as a test', async (t) => {
    const tab = await open(t, 'none')
    const http = await startHttpServer(t, 'showcase')
    await connect(tab, http)
    await tab.choose(/^Add/)
    await tab.fill('spinbutton', /^a/, '1')
    await tab.fill('spinbutton', /^b/, '2')
    await tab.click('button', /^Call/)
    await tab.see('sum: 3', '.operation')
    const copied = await copyAll(tab)
    assert.match(copied.curl, /^curl -N http:\/\/127\.0\.0\.1:\d+\/mcp \\\n/)
    assert.match(copied.curl, /-H 'mcp-method: tools\/call'/)
    assert.match(copied['tenon command'], /^tenon call http:\/\/127\.0\.0\.1:\d+\/mcp add a=1 b=2$/)
    assert.match(copied.TypeScript, /client\.callTool\('add', \{ a: 1, b: 2 \}\)/)
    const saved = await savedBy(tab, () => tab.click('button', 'Save as test'))
    assert.equal(saved.name, 'add.test.ts')
    assert.match(saved.text, /toMatchObject\(\{[\s\S]*structuredContent: \{ sum: 3 \}/)
    await assertQuiet(tab)
  })

  test('appear when the server adds them', async (t) => {
    const tab = await open(t)
    await tab.choose(/^grow/)
    await tab.click('button', /^Call/)
    await tab.see('16 tools')
    await tab.choose(/^grown/)
    await tab.see('A new tool', '.detail')
  })
})
