import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { skip } from './support/checks.js'
import { call } from './support/inspector/actions.js'
import { assertQuiet } from './support/inspector/checks.js'
import { inspectorSuite } from './support/inspector/suite.js'
import { until } from './support/inspector/tab.js'

describe('questions of servers in the inspector', { skip }, () => {
  const open = inspectorSuite()

  for (const revision of ['2025-11-25', '2026-07-28']) {
    test(`are forms that the user accepts, on ${revision}`, async (t) => {
      const tab = await open(t, 'showcase', { options: ['--revision', revision] })
      await tab.choose(/^deploy/)
      await tab.fill('textbox', /^app/, 'shop')
      await tab.click('button', /^Call/)
      await tab.see('Showcase asks you', '.question-card')
      await tab.see('Deploy shop?', '.question-card')
      await tab.set('combobox', /^environment/, 'live')
      await tab.click('button', 'Accept')
      await tab.see('shop is on live', '.operation')
      await tab.seeNot('asks you')
      await assertQuiet(tab)
    })
  }

  test('can be declined and cancelled', async (t) => {
    const tab = await open(t)
    await tab.choose(/^deploy/)
    await tab.click('button', /^Call/)
    await tab.click('button', 'Decline')
    await tab.see('Not deployed: decline', '.operation')
    await tab.click('button', /^Call/)
    await tab.see('asks you')
    await tab.click('button', 'Cancel', { nth: 0 })
    await tab.see('Not deployed: cancel', '.operation')
  })

  test('have every kind of field, and are sent only if they are valid', async (t) => {
    const tab = await open(t)
    await call(tab, 'survey')
    await tab.see('Tell us about you', '.question-card')
    await tab.click('button', 'Accept')
    assert.ok(await tab.has('button', 'Accept'))
    await tab.fill('textbox', /^Your name/, 'Ada')
    await tab.fill('textbox', /^email/, 'ada@example.com')
    await tab.fill('textbox', /^site/, 'https://example.com')
    await tab.set('Date', /^born/, '1990-12-10')
    await tab.set('DateTime', /^at/, '2026-01-31T12:00:00')
    await tab.fill('spinbutton', /^age/, '36')
    await tab.set('combobox', /^plan/, 'paid')
    await tab.set('combobox', /^tier/, 'Gold')
    await tab.click('button', 'Add topics')
    await tab.click('checkbox', 'events')
    await tab.click('button', 'Add seats')
    await tab.click('checkbox', 'Window')
    await tab.click('button', 'Accept')
    const shown = await tab.see('"action":"accept"', '.operation')
    const { content } = JSON.parse(shown.slice(shown.indexOf('{'), shown.lastIndexOf('}') + 1))
    const at = await tab.page.evaluate(`new Date('2026-01-31T12:00:00').toISOString()`)
    assert.deepEqual(content, {
      name: 'Ada',
      email: 'ada@example.com',
      site: 'https://example.com',
      born: '1990-12-10',
      at,
      age: 36,
      height: 1.8,
      member: true,
      plan: 'paid',
      tier: 'g',
      topics: ['events'],
      seats: ['w'],
    })
    await assertQuiet(tab)
  })

  test('show the full URL of a page and open nothing by themselves', async (t) => {
    const tab = await open(t)
    await call(tab, 'pay')
    await tab.see('https://pay.example.com/invoice?id=42', '.url-to-open')
    await tab.see('Host: pay.example.com', '.question-card')
    const link = `document.querySelector('.url-to-open a')`
    assert.equal(await tab.page.evaluate(`${link}.target + ' ' + ${link}.rel`), '_blank noopener noreferrer')
    await tab.click('button', 'Accept')
    await tab.see('Payment: accept', '.operation')
    await assertQuiet(tab)
  })

  test('to the model are answered by hand', async (t) => {
    const tab = await open(t)
    await call(tab, 'poem')
    await tab.see('Write a poem about oak', '.question-card')
    await tab.see('You are a poet', '.question-card')
    await tab.fill('textbox', 'Answer of the model', 'Oak, oh oak')
    await tab.click('button', 'Answer')
    await tab.see('The model wrote: Oak, oh oak', '.operation')
  })

  test('for roots are answered with the roots that the user edited', async (t) => {
    const tab = await open(t)
    await tab.see('15 tools')
    await tab.click('button', 'Overview')
    await tab.click('button', 'Add root')
    await tab.fill('textbox', 'URI of root 1', '/srv/project')
    await tab.fill('textbox', 'Name of root 1', 'project')
    await tab.click('button', 'Save roots')
    await until(async () =>
      assert.equal(await tab.page.evaluate(`document.querySelector('.roots input').value`), 'file:///srv/project'),
    )
    await tab.click('button', /^Tools/)
    await call(tab, 'where')
    await tab.see('file:///srv/project', '.operation')
  })

  test('of a task are answered on the board, and tasks are cancelled there', async (t) => {
    const tab = await open(t)
    await tab.choose(/^job/)
    await tab.click('checkbox', 'as a task')
    await tab.click('button', /^Call/)
    await tab.see('Go on with the job?')
    await tab.click('button', /^Tasks/)
    await tab.see('job', '[aria-label="input required"] .task-card')
    await tab.fill('textbox', /^note/, 'yes')
    await tab.click('button', 'Accept')
    await tab.see('job', '[aria-label=completed] .task-card')
    await tab.click('button', /^Tools/)
    await tab.see('The job ended: accept', '.operation')
    await tab.choose(/^endless-job/)
    await tab.click('checkbox', 'as a task')
    await tab.click('button', /^Call/)
    await tab.click('button', /^Tasks/)
    await tab.see('endless-job', '[aria-label=working] .task-card')
    await tab.click('button', 'Cancel task')
    await tab.see('endless-job', '[aria-label=cancelled] .task-card')
    await assertQuiet(tab)
  })
})
