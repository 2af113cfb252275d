import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { longestLine } from '../support.ts'
import { createProject, pack } from './support.ts'

/** Without these there is no server.json. */
const unregistered = { mcpName: undefined, repository: undefined }

describe('tenon pack', () => {
  it.each([
    ['a file with environment variables', 'dist/.env', 'KEY=1', 'dist/.env (environment variables)'],
    ['a private key', 'dist/server.key', 'x', 'dist/server.key (key or certificate)'],
    [
      'a token in a file',
      'dist/config.js',
      "export const token = 'ghp_x8Kq2LmN4vRt7YwZ1aBcD3eFgH5iJ6oP9sQu'",
      'dist/config.js (',
    ],
  ])('refuses %s', async (_, path, content, message) => {
    using workspace = createProject()
    workspace.write(path, content)
    const { code, result } = await pack(workspace)
    expect(code).toBe(6)
    expect(result.error.message).toContain(`Secrets must not be packed: ${message}`)
    workspace.write('.mcpbignore', `${path}\n`)
    expect((await pack(workspace)).code).toBe(0)
  })

  it('refuses .env in the folder of a package without "files"', async () => {
    using workspace = createProject({ files: undefined })
    workspace.write('.env', 'KEY=1')
    expect((await pack(workspace)).result.error.message).toContain('.env (environment variables)')
  })

  it.each([
    [{ bin: undefined }, 'package.json has neither "bin" nor "main".'],
    [{ bin: './src/main.ts' }, 'Hosts cannot start TypeScript: src/main.ts'],
    [{ bin: './lib/main.js' }, 'The file to start does not exist: lib/main.js'],
    [{ files: ['src'] }, 'The file to start is not packed: dist/main.js'],
    [{ dependencies: { missing: '*' } }, 'The dependency "missing" is not installed.'],
    [{ dependencies: {} }, 'The packed server does not work: '],
    [{ author: undefined }, 'author is missing in package.json'],
    [{ version: '1.x', ...unregistered }, 'version must be a semantic version such as 1.0.0: 1.x'],
    [{ version: '1.x' }, 'version must be a single version such as 1.0.0: 1.x'],
    [{ homepage: 'not a url', ...unregistered }, 'homepage is not a URL: not a url'],
    [{ description: 'x'.repeat(101) }, 'description must have 1 to 100 characters, not 101'],
    [{ mcpName: 'weather' }, 'name must look like io.github.me/server: weather'],
  ])('refuses %j, and writes nothing', async (overrides, message) => {
    using workspace = createProject(overrides)
    const { code, stderr } = await workspace.run(['pack'])
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain(message)
    expect(code).toBe(6)
    expect(longestLine(stderr)).toBeLessThanOrEqual(80)
    expect(existsSync(workspace.file('server.json'))).toBe(false)
  })
})
