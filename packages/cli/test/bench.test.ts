import { McpServer, serveHttp } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { leakOf } from '../src/bench/report.ts'
import { readJson } from './json-output.ts'
import { fixture, longestLine, Workspace } from './support.ts'

const notes = ['--', process.execPath, fixture('notes.js')]
const add = ['bench', '--tool', 'add', '--args', '{"a":1,"b":2}']

describe('tenon bench', () => {
  it('measures calls, latency, and the memory and CPU of the process it started', async () => {
    using work = new Workspace()
    const { code, stdout } = await work.run([...add, '--calls', '100', '--connections', '2', '--json', ...notes])
    const report = readJson('bench', stdout)
    expect(code).toBe(0)
    expect(report).toMatchObject({ tool: 'add', connections: 2, calls: 100, errors: 0, firstError: null })
    const { p50, p90, p99, max } = report.latencyMs
    expect([p50, p90, p99, max]).toEqual([p50, p90, p99, max].sort((a, b) => a - b))
    if (process.platform === 'win32') return
    // Two processes of Node.js.
    expect(report.process.rssBytes).toBeGreaterThan(2 * 20 * 1_048_576)
    expect(report.leak.rssBytes).toHaveLength(5)
  })

  it('prints the figures within 80 columns', async () => {
    using work = new Workspace()
    const { code, stdout } = await work.run([...add, '--calls', '50', ...notes])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^notes 1\.2\.3\nadd, 1 connection, 1 call at a time on each\n\n {2}calls {5}50 in /)
    expect(stdout).toMatch(/latency +p50 \d+\.\d\d ms, p90/)
    expect(longestLine(stdout)).toBeLessThanOrEqual(80)
  })

  it('knows no memory of a server behind a URL', async () => {
    using work = new Workspace()
    const server = new McpServer({ name: 'web', version: '1.0.0' })
    server.registerTool('ping', {}, () => 'pong')
    await using http = await serveHttp(server, { port: 0, exit: false })
    const args = ['bench', http.url, '--tool', 'ping', '--calls', '20', '--concurrency', '4', '--json']
    const report = readJson('bench', (await work.run(args)).stdout)
    expect(report).toMatchObject({ calls: 20, errors: 0, process: null, leak: { verdict: 'unknown' } })
  })

  it('counts errors, and shows the first', async () => {
    using work = new Workspace()
    const { code, stdout } = await work.run(['bench', '--tool', 'fail', '--calls', '10', '--json', ...notes])
    expect(code).toBe(1)
    expect(readJson('bench', stdout)).toMatchObject({ calls: 10, errors: 10, firstError: 'The disk is full' })
  })

  it.each([
    ['no tool', [], 'The server has: echo, add'],
    ['an unknown tool', ['--tool', 'none'], 'The server has: echo, add'],
    ['arguments that are not an object', ['--tool', 'add', '--args', '[]'], 'Pass a JSON object'],
    ['no calls', ['--tool', 'add', '--calls', '0'], 'at least 1'],
  ])('refuses %s', async (_, args, hint) => {
    using work = new Workspace()
    const { code, stderr } = await work.run(['bench', ...args, ...notes])
    expect(code).toBe(2)
    expect(stderr).toContain(hint)
  })
})

describe('the leak check', () => {
  const usage = (...mebibytes: number[]) => mebibytes.map((size) => ({ rssBytes: size * 1_048_576, cpuSeconds: 0 }))

  it.each([
    ['grows much in every round', usage(50, 60, 70, 80, 90), 'growing'],
    ['grows a little', usage(50, 50.5, 51, 51.5, 52), 'not-seen'],
    ['grows and shrinks', usage(50, 90, 60, 95, 50), 'not-seen'],
    ['grows, but not in every round', usage(50, 90, 60, 95, 70), 'unclear'],
    ['was measured once', usage(50), 'unknown'],
  ])('tells of memory that %s', (_, rounds, verdict) => {
    expect(leakOf(rounds).verdict).toBe(verdict)
  })
})
