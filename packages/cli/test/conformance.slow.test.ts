import { existsSync, symlinkSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { readJson } from './json-output.ts'
import { fixture, Workspace } from './support.ts'

/** `npm run conformance` installs the official suite here. */
const modules = fileURLToPath(new URL('../../../conformance/node_modules', import.meta.url))

if (!existsSync(modules))
  console.warn('Skipped: the official suite is not installed. "npm run conformance" installs it.')

describe.skipIf(!existsSync(modules))('tenon test with the official suite', () => {
  it('runs the scenarios that apply to a stdio server, and says why the others do not', async () => {
    using work = new Workspace()
    symlinkSync(modules, work.file('node_modules'))
    const command = ['--', process.execPath, fixture('notes.js')]
    const { code, stdout } = await work.run(['test', '--json', '--revision', '2025-11-25', ...command])
    const { suite, checks } = readJson('test', stdout)
    const byName = new Map(checks.map((check: { name: string }) => [check.name, check]))
    expect({ code, hasSuite: suite !== null }).toEqual({ code: 0, hasSuite: true })
    for (const name of ['server-initialize', 'ping', 'tools-list', 'prompts-list', 'resources-list'])
      expect(byName.get(name)).toMatchObject({ status: 'pass' })
    expect(byName.get('tools-call-image')).toMatchObject({
      status: 'skip',
      reason: 'It needs the tool test_image_content.',
    })
    expect(byName.get('dns-rebinding-protection')).toMatchObject({ status: 'skip' })
  }, 300_000)
})
