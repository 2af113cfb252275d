import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { NodeProcess } from '../../sdk/test/kit/child-process.ts'
import { fixture, program, Workspace } from './support.ts'

it('loads no command for "tenon --version"', async () => {
  const { stdout, modules } = await loadedBy(['--version'])
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  expect(modules).toContain('cli.js')
  expect(modules.filter((module) => module.includes('/'))).toEqual([])
})

it('loads no other command for "tenon list", and no OAuth library for a server without a URL', async () => {
  const { stdout, modules, packages } = await loadedBy(['list', '--json', process.execPath, fixture('notes.js')])
  expect(JSON.parse(stdout).server.name).toBe('notes')
  expect(modules.filter((module) => module.startsWith('commands/'))).toEqual(['commands/list.js'])
  expect(new Set(modules.filter((module) => module.includes('/')).map((module) => module.split('/')[0]))).toEqual(
    new Set(['commands', 'list']),
  )
  expect([...packages]).toEqual(['commander', 'cross-spawn'])
})

/** Runs the command line, and returns the modules of `dist` and the installed packages that it loads. */
async function loadedBy(args: readonly string[]) {
  using work = new Workspace()
  const list = work.file('modules')
  const env = { ...work.env, TENON_TEST_MODULES: list }
  const recorder = fixture('record-modules.js')
  await using child = new NodeProcess(['--import', recorder, program, ...args], { cwd: work.path, env })
  const { code } = await child.exited
  expect({ code, stderr: child.stderr }).toEqual({ code: 0, stderr: '' })
  const urls = readFileSync(list, 'utf8').split('\n')
  const dist = new URL('../dist/', import.meta.url).href
  const packages = urls.flatMap((url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? [])
  return {
    stdout: child.stdout,
    modules: urls.filter((url) => url.startsWith(dist)).map((url) => url.slice(dist.length)),
    packages: new Set(packages),
  }
}
