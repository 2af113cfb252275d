import { expect, it } from 'vitest'
import { readJson } from './json-output.ts'
import { fixture, Workspace } from './support.ts'
import { startWebSite } from './web-site.ts'
import { startWorkshop } from './workshop.ts'

it.each(['2025-11-25', '2026-07-28'])('prints changes and log messages as JSON lines on %s', async (revision) => {
  using work = new Workspace()
  await using workshop = await startWorkshop()
  await using child = work.start(['watch', workshop.url, 'note://today', '--json', '--revision', revision])
  await child.until(() => child.stderr.includes('Press Ctrl-C to stop.'))
  expect((await work.run(['call', workshop.url, 'change'])).stdout).toBe('changed\n')
  await child.until(() => child.stdout.includes('resourceUpdated') && child.stdout.includes('toolsChanged'))
  child.child.kill('SIGINT')
  expect((await child.exited).code).toBe(0)
  const events = child.stdout
    .trimEnd()
    .split('\n')
    .map((line) => readJson('watch', line))
  expect(events).toContainEqual({ at: expect.any(String), type: 'resourceUpdated', uri: 'note://today' })
})

it('prints each event on a line of its own, with log messages of the server', async () => {
  using work = new Workspace()
  await using child = work.start(['watch', '--revision', '2025-11-25', '--', process.execPath, fixture('ticking.js')])
  await child.until(() => child.stdout.includes('tick'))
  await child.until(() => child.stdout.includes('The list of tools changed'))
  child.child.kill('SIGINT')
  expect((await child.exited).code).toBe(0)
  expect(child.stdout).toMatch(/^\d\d:\d\d:\d\d {2}warning clock: tick <U\+001B>\[31m$/m)
})

it('ends with 3 if the server goes away for good', async () => {
  using work = new Workspace()
  await using child = work.start(['watch', '--', process.execPath, fixture('ticking.js'), 'die'])
  expect((await child.exited).code).toBe(3)
})

it('refuses what it cannot watch', async () => {
  using work = new Workspace()
  await using site = await startWebSite()
  const page = await work.run(['watch', site.url, '--json'])
  expect(page.code).toBe(3)
  readJson('error', page.stdout)
  const hostile = await work.run(['watch', fixture('hostile.js'), 'note://today'])
  expect(hostile.code).toBe(2)
  expect(hostile.stderr).toContain('no subscriptions')
  expect((await work.run(['watch'])).code).toBe(2)
})
