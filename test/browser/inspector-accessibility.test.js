import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { skip } from './support/checks.js'
import { call, connect } from './support/inspector/actions.js'
import { assertAccessible, assertQuiet } from './support/inspector/checks.js'
import { startHttpServer } from './support/inspector/inspector.js'
import { inspectorSuite } from './support/inspector/suite.js'
import { until } from './support/inspector/tab.js'

describe('the accessibility of the inspector', { skip }, () => {
  const open = inspectorSuite()

  test('has no serious fault in the tabs, forms, questions, dialogs and the wire, in both themes', async (t) => {
    const tab = await open(t)
    await tab.see('15 tools')
    await tab.click('button', '+ Connect')
    await assertAccessible(tab)
    await tab.press('Escape')
    await tab.choose(/^echo/)
    for (const name of ['place', 'shape', 'tree', 'tags', 'sizes', 'labels', 'maybe', 'version']) {
      await tab.click('button', `Add ${name}`)
    }
    await tab.click('button', 'Add property')
    await assertAccessible(tab)
    await call(tab, 'media')
    await tab.see('An embedded note')
    await assertAccessible(tab)
    await call(tab, 'fail')
    await tab.see('It is broken')
    await tab.choose(/^deploy/)
    await tab.click('button', /^Call/)
    await tab.see('asks you')
    await tab.choose(/^poem/)
    await tab.click('button', /^Call/)
    await tab.see('Write a poem')
    await assertAccessible(tab)
    await tab.click('button', 'Round trips')
    await tab.click('button', /→ tools\/call/)
    await assertAccessible(tab)
    await tab.choose(/^pay/)
    await tab.click('button', /^Call/)
    await tab.see('pay.example.com')
    for (const name of ['Overview', /^Resources/, /^Prompts/, /^Tasks/, 'Logs']) {
      await tab.click('button', name)
      await assertAccessible(tab)
    }
    await tab.click('button', 'messages')
    await assertAccessible(tab)
    await tab.press('?')
    await tab.see('Show these keys', 'dialog')
    await assertAccessible(tab)
    await tab.press('Escape')
    await assertAccessible(tab, ['phone', 'phone-dark'])
    await assertQuiet(tab)
  })

  test('has no serious fault in the comparison, the HTTP exchanges and a board with tasks', async (t) => {
    const tab = await open(t, 'none')
    await connect(tab, await startHttpServer(t, 'showcase'))
    await tab.click('button', 'HTTP')
    await tab.choose(/^POST/)
    await tab.see('Response headers', '.http-detail')
    await assertAccessible(tab)
    await tab.choose(/^job/)
    await tab.click('checkbox', 'as a task')
    await tab.click('button', /^Call/)
    await tab.click('button', /^Tasks/)
    await tab.see('Go on with the job?', '.task-card')
    await assertAccessible(tab)
    await tab.click('button', 'Decline')
    await tab.see('job', '[aria-label=completed] .task-card')
    await tab.click('button', /^Tools/)
    await tab.choose(/^Add/)
    await tab.click('button', 'Compare revisions…')
    await tab.click('button', 'Run both')
    await tab.see(/lines? differ/, '.compare')
    await assertAccessible(tab)
  })

  test('lets the keyboard do everything: choose, call, answer, look at the wire', async (t) => {
    const tab = await open(t)
    await tab.see('15 tools')
    await tab.press('/')
    await tab.type('deploy')
    await tab.see('1 of 15 tools')
    await tab.press('ArrowDown')
    await tab.page.tabTo('textbox', 'app* string')
    await tab.type('shop')
    await tab.press('Enter', { ctrl: true })
    await tab.see('Deploy shop?')
    await tab.page.evaluate(`document.querySelector('.question-card select').focus()`)
    await tab.press('Enter', { ctrl: true })
    await tab.see('shop is on staging', '.operation')
    await tab.page.evaluate('document.activeElement.blur()')
    await tab.press('w')
    await tab.press('End')
    await tab.see('shop is on staging', '.message-detail')
    await tab.press('ArrowUp')
    await tab.see('inputResponses', '.message-detail')
    await tab.press('Escape')
    await until(async () => assert.equal(await tab.text('.message-detail'), ''))
  })
})
