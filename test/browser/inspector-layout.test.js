import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { skip } from './support/checks.js'
import { connect } from './support/inspector/actions.js'
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
  })
})
