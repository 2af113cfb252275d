import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { fixture, program, Workspace } from './support.ts'

const unruly = fixture('unruly.js')

it('suggests commands, options, choices, servers, tools and arguments without starting a server', async () => {
  using work = new Workspace()
  work.writeConfig(['files', 'mail'])
  const suggestions = async (...words: string[]) =>
    (await work.run(['completion', '--words', '--', ...words])).stdout.trim().split('\n')
  expect(await suggestions('li')).toEqual(['list', 'lint'])
  expect(await suggestions('help', 'ga')).toEqual(['gateway'])
  expect(await suggestions('call', '--ti')).toEqual(['--timeout'])
  expect(await suggestions('list', '--revision', '2025-0')).toEqual(['2025-06-18', '2025-03-26'])
  expect(await suggestions('call', '')).toEqual(['files', 'mail'])
  expect(await suggestions('list', 'tools', 'm')).toEqual(['mail'])
  expect(await suggestions('call', 'files', '')).toEqual([''])
  await work.run(['list', 'files'])
  expect(await suggestions('call', 'files', 'e')).toEqual(['echo'])
  expect(await suggestions('call', 'files', 'add', '')).toEqual(['a=', 'b='])
  await work.run(['call', unruly, 'warn'])
  expect(await suggestions('call', unruly, '')).toEqual(['warn'])
})

it('prints a script for each shell, and names the shells for another one', async () => {
  using work = new Workspace()
  for (const shell of ['bash', 'zsh', 'fish'])
    expect((await work.run(['completion', shell])).stdout).toContain('tenon completion --words --')
  const { code, stderr } = await work.run(['completion', 'cmd'])
  expect(code).toBe(2)
  expect(stderr).toContain('Choose bash, zsh, fish.')
})

it.skipIf(!existsSync('/bin/bash'))('completes in a real bash', async () => {
  using work = new Workspace()
  work.writeConfig(['files'])
  const { stdout: script } = await work.run(['completion', 'bash'])
  const lines = [
    `tenon() { '${process.execPath}' '${program}' "$@"; }`,
    script,
    'COMP_WORDS=(tenon call fi); COMP_CWORD=2; _tenon; printf "%s\\n" "$COMPREPLY"',
    'complete -p tenon',
  ]
  const { stdout } = spawnSync('/bin/bash', ['--norc', '-c', lines.join('\n')], {
    cwd: work.path,
    env: work.env,
    encoding: 'utf8',
  })
  expect(stdout).toBe('files\ncomplete -o default -F _tenon tenon\n')
})
