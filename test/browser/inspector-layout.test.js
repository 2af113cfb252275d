import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { skip } from './support/checks.js'
import { call, connect } from './support/inspector/actions.js'
import { assertAccessible, assertQuiet, rectsOf } from './support/inspector/checks.js'
import { serverCommand } from './support/inspector/inspector.js'
import { inspectorSuite } from './support/inspector/suite.js'
import { until } from './support/inspector/tab.js'

describe('the layout of the inspector', { skip }, () => {
  const open = inspectorSuite()

  test('names servers by their title, and by what they say themselves if they have none', async (t) => {
    const tab = await open(t)
    await tab.see('15 tools')
    assert.equal(await tab.text('.server-name'), 'Showcase')
    await connect(tab, serverCommand('showcase'))
    await until(async () => assert.equal(await tab.text('.server-name'), 'Showcase\nShowcase 2'))
    await tab.see('stdio', '.server-facts')
    const { method, badge } = await rectsOf(tab, { method: '.wire-row .clip', badge: '.wire-row .of-server' })
    assert.ok(badge.width < 100 && method.width > 150, `the name of the server leaves ${method.width} px to the method`)
  })

  test('puts the list beside the form, each as high as the column', async (t) => {
    const tab = await open(t)
    await tab.choose(/^Add/)
    const { list, detail, column } = await rectsOf(tab, {
      list: '.item-list',
      detail: '.detail',
      column: '.workspace',
    })
    assert.ok(list.height > column.height * 0.85, `the list is ${list.height} of ${column.height} px high`)
    assert.ok(detail.height > column.height * 0.85, `the form is ${detail.height} of ${column.height} px high`)
    assert.ok(list.right <= detail.left, 'the form is not beside the list')
  })

  for (const [name, part] of Object.entries({
    'Size of the list': '.list-side',
    'Size of the servers': '.servers',
    'Size of the wire': '.wire',
  })) {
    test(`lets the keyboard and the mouse change the ${name.toLowerCase()}, and remembers it`, async (t) => {
      const tab = await open(t)
      await tab.see('15 tools')
      const width = async () => (await rectsOf(tab, { part })).part.width
      const before = await width()
      await tab.focus('separator', name)
      const grow = part === '.wire' ? 'ArrowLeft' : 'ArrowRight'
      for (let times = 0; times < 3; times++) await tab.press(grow)
      const wider = await width()
      assert.ok(wider > before + 20, `${before} px became ${wider} px`)
      await tab.drag('separator', name, part === '.wire' ? -60 : 60)
      const dragged = await width()
      assert.ok(Math.abs(dragged - wider - 60) < 6, `${wider} px became ${dragged} px`)
      await assertAccessible(tab)
      await tab.page.visit(await tab.page.url())
      await tab.see('15 tools')
      assert.ok(Math.abs((await width()) - dragged) < 2)
      await tab.focus('separator', name)
      await tab.press('Enter')
      assert.ok(Math.abs((await width()) - before) < 2, 'Enter restores the size')
    })
  }

  test('resizes the message below the wire', async (t) => {
    const tab = await open(t)
    await tab.see('15 tools')
    await tab.choose(/server\/discover/)
    const height = async () => (await rectsOf(tab, { part: '.message-detail' })).part.height
    const before = await height()
    await tab.focus('separator', 'Size of the message')
    for (let times = 0; times < 3; times++) await tab.press('ArrowUp')
    assert.ok((await height()) > before + 20)
  })

  test('shows titles first, then names, with the badges at the right', async (t) => {
    const tab = await open(t)
    await tab.see('15 tools')
    const { row, title, badges } = await rectsOf(tab, {
      row: '.item-row',
      title: '.item-title',
      badges: '.item-badges .badge:last-child',
    })
    assert.equal(await tab.page.evaluate(`document.querySelector('.item-title').innerText`), 'Add')
    assert.match(await tab.page.evaluate(`document.querySelector('.item-note').innerText`), /^add\b.*Adds two numbers/s)
    assert.ok(title.left - row.left < 4, 'the title is not first')
    assert.ok(row.right - badges.right < 4, 'the badges are not at the right')
    await tab.choose(/^Add/)
    assert.equal(await tab.page.evaluate(`document.querySelector('.detail h3').innerText`), 'Add')
    await tab.see('add', '.detail header .name')
  })

  test('fits the diagram of two servers into the pane, and into a phone', async (t) => {
    const tab = await open(t)
    await connect(tab, serverCommand('showcase'))
    await tab.click('button', 'diagram')
    await tab.see('Showcase 2', '.diagram')
    const hidden = `(() => { const pane = document.querySelector('.diagram'); return pane.scrollWidth - pane.clientWidth })()`
    await until(async () => assert.ok((await tab.page.evaluate(hidden)) <= 0, 'the diagram is wider than the pane'))
    const [pane, lanes] = await tab.page
      .evaluate(
        `[document.querySelector('.diagram'), ...document.querySelectorAll('.lane text')].map((each) => each.getBoundingClientRect().right)`,
      )
      .then(([first, ...rest]) => [first, rest])
    for (const lane of lanes) assert.ok(lane <= pane, `a name ends at ${lane} px, the pane at ${pane} px`)
    await tab.page.look('phone')
    await tab.click('button', 'Wire')
    await until(async () => assert.ok((await tab.page.evaluate(hidden)) <= 0, 'the diagram is wider than the phone'))
  })

  test('indents nested fields below their label', async (t) => {
    const tab = await open(t)
    await tab.choose(/^echo/)
    await tab.click('button', 'Add place')
    await tab.click('button', 'Add tags')
    await tab.click('button', 'Add item')
    const left = (label) =>
      tab.page.evaluate(
        `[...document.querySelectorAll('.field-name')].find((each) => each.innerText.startsWith(${JSON.stringify(label)})).getBoundingClientRect().left`,
      )
    assert.equal(await left('place'), await left('text'), 'groups and fields start at the same position')
    assert.ok((await left('city')) > (await left('place')) + 4)
    assert.ok((await left('tags[0]')) > (await left('tags')) + 4)
  })

  test('takes a string in one line, and in several once the user or the schema wants them', async (t) => {
    const tab = await open(t)
    await tab.choose(/^echo/)
    const kind = (label) =>
      tab.page.evaluate(
        `[...document.querySelectorAll('.field')].find((each) => each.innerText.startsWith(${JSON.stringify(label)})).querySelector('input, textarea').localName`,
      )
    assert.equal(await kind('text'), 'input')
    await tab.fill('textbox', /^text/, 'one')
    await tab.press('Enter', { shift: true })
    await until(async () => assert.equal(await kind('text'), 'textarea'))
    await tab.type('two')
    await tab.press('Enter', { ctrl: true })
    await tab.see('one\\ntwo', '.operation')
    await tab.choose(/^deploy/)
    await tab.choose(/^echo/)
    assert.equal(await kind('text'), 'textarea')
    assert.equal(await kind('story'), 'textarea')
  })

  test('fits images into the pane, and shows them in full size on a click', async (t) => {
    const tab = await open(t)
    await call(tab, 'media')
    await tab.see('2000 × 1400', '.operation')
    const { image, detail, dot } = await rectsOf(tab, {
      image: '.result figure:nth-of-type(2) img',
      detail: '.detail',
      dot: '.result figure img',
    })
    assert.ok(image.width <= detail.width && image.height <= detail.height)
    assert.ok(dot.width >= 48, `an image of 10 px is drawn with ${dot.width} px`)
    await tab.click('button', /full size/, { nth: 1 })
    await until(async () => {
      const { full } = await rectsOf(tab, { full: 'dialog img' })
      assert.equal(Math.round(full.width), 2000)
    })
    await assertAccessible(tab)
    await tab.press('Escape')
    await until(async () => assert.equal(await tab.page.evaluate(`document.querySelector('dialog')`), null))
    await assertQuiet(tab)
  })

  test('leads back from a form to the list on a phone, and cuts no tab', async (t) => {
    const tab = await open(t, 'showcase', { look: 'phone' })
    await tab.see('15 tools')
    const ends = `[...document.querySelectorAll('.tabs button')].map((each) => each.getBoundingClientRect().right)`
    for (const end of await tab.page.evaluate(ends)) assert.ok(end <= 390, `a tab ends at ${end} px`)
    await tab.choose(/^Add/)
    await tab.see('Adds two numbers', '.detail')
    await tab.seeNot('15 tools')
    await tab.click('button', /Tools$/, { nth: 0 })
    await tab.see('15 tools')
    assert.equal((await rectsOf(tab, { detail: '.detail' })).detail.width, 0)
    await tab.choose(/^Add/)
    await tab.press('Escape')
    await tab.see('15 tools')
    for (const [name, row] of [
      [/^Resources/, /readme/],
      [/^Prompts/, /review/],
    ]) {
      await tab.click('button', name)
      await tab.choose(row)
      await tab.see(/Read|Get prompt/, '.detail .primary')
      await tab.press('Escape')
      await until(async () => assert.equal((await rectsOf(tab, { detail: '.detail' })).detail.width, 0))
      assert.equal(await tab.page.isTooWide(), false)
    }
    await assertAccessible(tab, ['phone', 'phone-dark'])
  })

  test('lets the arrow keys move in a list of a phone, and Enter opens the item', async (t) => {
    const tab = await open(t, 'showcase', { look: 'phone' })
    await tab.see('15 tools')
    await tab.press('/')
    await tab.press('ArrowDown')
    await tab.press('ArrowDown')
    await tab.see('15 tools')
    await tab.press('Enter')
    await tab.see('Returns its arguments', '.detail')
    await until(async () => assert.equal((await tab.page.focused())?.role, 'textbox'))
    await tab.press('Escape')
    await tab.see('15 tools')
    await until(async () => assert.equal((await tab.page.focused())?.role, 'listbox'))
  })
})
