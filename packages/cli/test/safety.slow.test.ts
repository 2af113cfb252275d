import { describe, expect, it } from 'vitest'
import { NodeProcess } from '../../sdk/test/kit/child-process.ts'
import { readJson } from './json-output.ts'
import { fixture, longestLine, Workspace } from './support.ts'

const attack = ['test', '--attack', '--no-conformance']

/** The names of checks by their status. */
function namesBy(status: string, checks: readonly { name: string; status: string }[]): string[] {
  return checks.filter((check) => check.status === status).map(({ name }) => name)
}

describe('tenon test --attack against a bad server', () => {
  it('finds the mistakes of a careless server, and calls only tools that are read-only', async () => {
    using work = new Workspace()
    await using server = new NodeProcess([fixture('careless-http.js')])
    const url = await server.until(() => /^http\S+/.exec(server.stdout)?.[0])
    const { code, stdout } = await work.run([...attack, '--json', '--timeout', '10', url])
    const { checks } = readJson('test', stdout)
    expect(code).toBe(6)
    expect(namesBy('fail', checks)).toEqual([
      'malformed-json',
      'not-a-request',
      'oversized-message',
      'prototype-names',
      'error-details',
      'foreign-host',
      'foreign-origin',
      'cors-preflight',
      'simple-content-type',
      'wrong-version-header',
      'wrong-http-method',
      'session-guessing',
      'session-entropy',
      'invalid-arguments',
      'path-traversal-tools',
      'path-traversal-resources',
    ])
    expect(server.stdout).toContain('called read')
    expect(server.stdout).not.toContain('called write')
  })

  it('notices that a server ended, restarts it, and shows each check within 80 columns', async () => {
    using work = new Workspace()
    const command = ['--', process.execPath, fixture('fragile.js')]
    const { code, stdout } = await work.run([...attack, '--timeout', '1', ...command])
    expect(code).toBe(6)
    expect(stdout.replace(/\s+/g, ' ')).toContain(
      'fail malformed-json Invalid JSON got the end of the connection. Afterwards the server did not answer until it was restarted.',
    )
    expect(stdout).toMatch(/pass {2}unknown-method/)
    expect(stdout.replace(/\s+/g, ' ')).toContain('fail invalid-arguments stall with no text was not answered.')
    expect(longestLine(stdout)).toBeLessThanOrEqual(80)
  })
})
