import { chmodSync, readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { describe, expect, it } from 'vitest'
import manifest from '../../../package.json' with { type: 'json' }
import { projectFiles, toPackageName } from '../src/init/project-files.ts'
import { versions } from '../src/init/versions.ts'
import { packageManager } from '../src/run-package-manager.ts'
import { longestLine, Workspace } from './support.ts'

const shared = [
  '.dockerignore',
  '.gitignore',
  'Dockerfile',
  'README.md',
  'package.json',
  'src/main.ts',
  'src/server.ts',
  'test/server.test.ts',
  'tsconfig.build.json',
  'tsconfig.json',
]

describe('tenon init', () => {
  it.each(['stdio', 'http'] as const)('creates a project for %s', async (transport) => {
    using workspace = new Workspace()
    const args = ['init', 'weather', `--${transport}`, '--no-install', '--tenon', 'file:/x.tgz', '--json']
    const { code, stdout } = await workspace.run(args)
    expect(code).toBe(0)
    const { files, ...created } = JSON.parse(stdout)
    expect(created).toEqual({ folder: workspace.file('weather'), name: 'weather', transport, installed: false })
    expect(files.sort()).toEqual(shared)
    const read = (name: string) => readFileSync(workspace.file(`weather/${name}`), 'utf8')
    expect(JSON.parse(read('package.json'))).toMatchObject({
      name: 'weather',
      bin: { weather: './dist/main.js' },
      dependencies: { tenon: 'file:/x.tgz' },
    })
    expect(read('src/main.ts')).toContain(transport === 'http' ? 'serveHttp(server' : 'serveStdio(server)')
    for (const name of files) expect(read(name)).not.toContain('my-mcp-server')
  })

  it('uses the current folder if it is empty, and prints the next commands', async () => {
    using workspace = new Workspace()
    const { code, stdout, stderr } = await workspace.run(['init', '--no-install', '--name', 'demo'])
    expect(code).toBe(0)
    expect(stdout).toBe('Created demo.\n')
    expect(stderr).toContain('  npm install\n  npx tenon call src/main.ts greet name=Ada\n  npm test\n')
    expect(longestLine(stderr)).toBeLessThanOrEqual(80)
    expect(readdirSync(workspace.path)).toContain('package.json')
  })

  it('refuses a folder with files, and writes nothing', async () => {
    using workspace = new Workspace()
    workspace.write('mine.txt', 'x')
    const { code, stderr } = await workspace.run(['init', '.', '--yes'])
    expect(code).toBe(2)
    expect(stderr).toContain('The folder is not empty')
    expect(readdirSync(workspace.path)).toEqual(['mine.txt'])
  })

  it('takes another folder without a question if the current one has files', async () => {
    using workspace = new Workspace()
    workspace.write('mine.txt', 'x')
    const { stdout } = await workspace.run(['init', '--no-install', '--json'])
    expect(basename(JSON.parse(stdout).folder)).toBe('my-mcp-server')
  })

  it('installs with the package manager that runs it, and reports its failure', async () => {
    using workspace = new Workspace()
    chmodSync(workspace.write('pnpm', '#!/bin/sh\necho "$1 in $(basename "$PWD")"; exit "$(cat ../status)"\n'), 0o755)
    const env = { PATH: `${workspace.path}:${process.env.PATH}`, npm_config_user_agent: 'pnpm/10.0.0 npm/? node/v22' }
    workspace.write('status', '3')
    const failed = await workspace.run(['init', 'a', '--json'], { env })
    expect(failed.code).toBe(1)
    expect(failed.stderr).toContain('install in a\n')
    expect(JSON.parse(failed.stdout).error).toMatchObject({
      code: 'install-failed',
      message: '"pnpm install" failed: 3',
      hint: expect.stringContaining('Run "pnpm install" there to try again.'),
    })
    expect(readdirSync(workspace.file('a'))).toContain('src')
    workspace.write('status', '0')
    const done = await workspace.run(['init', 'b', '--json'], { env })
    expect(JSON.parse(done.stdout).installed).toBe(true)
  })

  it.each([
    [['a', '--stdio', '--http'], 'Pass either --stdio or --http.'],
    [['a', '--name', 'Not Valid'], 'Not a valid name: Not Valid'],
  ])('explains %j', async (args, message) => {
    using workspace = new Workspace()
    const { code, stderr } = await workspace.run(['init', ...args, '--no-install'])
    expect(code).toBe(2)
    expect(stderr).toContain(message)
  })
})

describe('new projects', () => {
  it('use the versions that this repository is tested with', () => {
    const tested: Record<string, string> = manifest.devDependencies
    for (const [name, range] of Object.entries(versions)) expect(range, name).toBe(`^${tested[name]}`)
  })

  it('have valid package names', () => {
    expect(toPackageName('My Server!')).toBe('my-server')
    expect(toPackageName('._x_.')).toBe('x')
    expect(toPackageName('日本')).toBe('my-mcp-server')
  })

  it('are installed with the package manager that runs the command', () => {
    expect(packageManager({ npm_config_user_agent: 'pnpm/10.1.0 npm/? node/v22' })).toBe('pnpm')
    expect(packageManager({ npm_config_user_agent: 'something' })).toBe('npm')
    expect(packageManager({})).toBe('npm')
  })

  it('contain no template names', () => {
    const files = projectFiles({ name: 'a', transport: 'http', tenon: '^1', cli: '^1', author: 'Ada' })
    expect([...files.keys()].filter((name) => /stdio|http/.test(name))).toEqual([])
  })
})
