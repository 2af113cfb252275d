import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findProgram, minimalEnvironment } from '../../src/host/node/sandbox.ts'
import { folder, setVariable } from './sandbox-support.ts'

describe('finding programs', () => {
  it('finds executable files in absolute folders of PATH only', async () => {
    const [first, second] = [folder(), folder()]
    writeFileSync(join(first, 'tool'), '', { mode: 0o644 })
    mkdirSync(join(first, 'sub'))
    writeFileSync(join(second, 'real'), '', { mode: 0o755 })
    symlinkSync(join(second, 'real'), join(second, 'tool'))
    const path = `${first}:.::${second}`
    expect(await findProgram('tool', { path })).toEqual({ path: join(second, 'tool'), realPath: join(second, 'real') })
    expect(await findProgram('sub', { path })).toBeUndefined()
    expect(await findProgram('package.json', { path })).toBeUndefined()
    expect(await findProgram('./real', { path, cwd: second })).toMatchObject({ path: join(second, 'real') })
    chmodSync(join(second, 'real'), 0o644)
    expect(await findProgram('tool', { path })).toBeUndefined()
  })

  it('keeps secrets out of the minimal environment [SEC-014]', () => {
    setVariable('GITHUB_TOKEN', 'ghp_secret')
    setVariable('SHELL', '() { :; }; evil')
    const environment = minimalEnvironment()
    expect(environment).not.toHaveProperty('GITHUB_TOKEN')
    expect(environment).not.toHaveProperty('SHELL')
    expect(environment.PATH).toBe(process.env.PATH)
  })
})
