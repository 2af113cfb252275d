import { chmodSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { connect } from 'tenon/client'
import type { ApprovalRequest } from 'tenon/host'
import { describe, expect, it } from 'vitest'
import { digestOf } from '../../sdk/src/host/definitions.ts'
import { commandFindings, describeCommand } from '../../sdk/src/host/sandbox/command-line.ts'
import { codeVariables, hiddenCommands, unknownLaunchers } from '../../sdk/test/host/hostile-commands.ts'
import { ordinaryCommands } from '../../sdk/test/host/ordinary-commands.ts'
import type { NodeProcess } from '../../sdk/test/kit/child-process.ts'
import { splitWords } from '../src/arguments/split-words.ts'
import { createOperator } from '../src/gateway/operator.ts'
import { createOutput } from '../src/output.ts'
import { fixture, Workspace } from './support.ts'

/** A config with one server that a shell starts, and the file that shows that it was started. */
function withShell(work: Workspace) {
  const marker = work.file('started')
  const script = `touch ${marker}; exec ${process.execPath} ${fixture('notes.js')}`
  const config = work.write('mcp.json', { mcpServers: { shell: { command: 'sh', args: ['-c', script] } } })
  return { config, marker, command: `sh -c '${script}'` }
}

function urlOf(served: NodeProcess): Promise<string> {
  return served.until(() => /^http\S+(?=\n)/.exec(served.stdout)?.[0])
}

/** The decisions about connections in an audit log. */
function decisionsIn(audit: string): { allowed: boolean; by: string; reason: string }[] {
  const records = readFileSync(audit, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  return records
    .filter(({ event, details }) => event === 'decision' && details.action.kind === 'connect')
    .map(({ details: { allowed, by, reason } }) => ({ allowed, by, reason }))
}

describe('a dangerous command in a config file', () => {
  it.each([
    { name: 'gateway', options: ['--allow-all', '--trust-config'] },
    { name: 'serve', options: [] },
  ])(
    'is not started by tenon $name without a person, and the way out is named [HOST-009]',
    async ({ name, options }) => {
      using work = new Workspace()
      const { config, marker, command } = withShell(work)
      const { code, stdout, stderr } = await work.run([name, config, '--port', '0', ...options])
      expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
      expect(existsSync(marker)).toBe(false)
      expect(stderr).toContain('Runs a shell script')
      expect(stderr.replaceAll(/\s+/g, ' ')).toContain(command)
      expect(stderr).toContain('--allow-command')
    },
  )

  it('is started if the option names exactly this command, and only then [HOST-009] [HOST-014]', async () => {
    using work = new Workspace()
    const { config, marker, command } = withShell(work)
    const audit = work.file('audit.jsonl')
    const args = ['gateway', config, '--allow-all', '--trust-config', '--port', '0', '--audit', audit]
    {
      await using gateway = work.start([...args, '--allow-command', command])
      await using client = await connect(await urlOf(gateway))
      expect((await client.callTool('shell_add', { a: 1, b: 2 })).text).toBe('3')
      gateway.child.kill('SIGTERM')
      await gateway.exited
    }
    expect(decisionsIn(audit)).toEqual([
      { allowed: true, by: 'program', reason: '--allow-command allowed it (until-close)' },
    ])
    rmSync(marker)
    for (const allowed of [[], ['--allow-command', `${command} `], ['--allow-command', 'shell']]) {
      expect((await work.run([...args, ...allowed])).code).toBe(4)
    }
    expect(existsSync(marker)).toBe(false)
    expect(
      decisionsIn(audit)
        .slice(1)
        .map(({ allowed, by }) => ({ allowed, by })),
    ).toEqual(Array(3).fill({ allowed: false, by: 'default' }))
  })

  it.each([
    ['--trust-config', { by: 'program', program: '--trust-config' }],
    ['an earlier version, which did not record how', {}],
  ])('is not started because of an approval by %s [HOST-009]', async (_, how) => {
    using work = new Workspace()
    const { config, marker, command } = withShell(work)
    const connections = { shell: { digest: await digestOf([command]), target: command, ...how } }
    const scope = { id: 'g', server: 'shell', kind: 'connect', covers: 'action', from: [], createdAt: 0 }
    const shown = await digestOf([{ id: 'shell', trust: 'untrusted', address: command }, [command, []]])
    const grants = [{ ...scope, duration: 'always', digest: shown, expiresAt: 8e15 }]
    const store = work.write('store.json', { version: 1, grants, pins: {}, connections })
    chmodSync(store, 0o600)
    const args = ['gateway', config, '--allow-all', '--trust-config', '--port', '0', '--store', store]
    const { code, stderr } = await work.run(args)
    expect(code).toBe(4)
    expect(existsSync(marker)).toBe(false)
    expect(stderr).toContain('--allow-command')
    await using gateway = work.start([...args, '--allow-command', command])
    await urlOf(gateway)
    expect(existsSync(marker)).toBe(true)
  })

  it('is started if a person approved it before [HOST-009]', async () => {
    using work = new Workspace()
    const { config, marker, command } = withShell(work)
    const connections = { shell: { digest: await digestOf([command]), target: command, by: 'user' } }
    const store = work.write('store.json', { version: 1, grants: [], pins: {}, connections })
    chmodSync(store, 0o600)
    await using gateway = work.start(['gateway', config, '--allow-all', '--port', '0', '--store', store])
    await urlOf(gateway)
    expect(existsSync(marker)).toBe(true)
  })

  it('is not started if a variable loads more code, whatever the option names [HOST-009]', async () => {
    using work = new Workspace()
    const command = `${process.execPath} ${fixture('notes.js')}`
    const env = { LD_PRELOAD: work.file('evil.so') }
    const config = work.write('mcp.json', {
      mcpServers: { notes: { command: process.execPath, args: [fixture('notes.js')], env } },
    })
    const args = ['gateway', config, '--allow-all', '--trust-config', '--port', '0', '--allow-command', command]
    const { code, stderr } = await work.run(args)
    expect(code).toBe(4)
    expect(stderr).toContain('LD_PRELOAD')
  })
})

/** What the operator says about a command without a person, as with `--trust-config`. */
async function decisionFor(
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  const launch = { command, args, env, cwd: undefined }
  const server = { id: 'a' }
  const action = { kind: 'connect', server, target: describeCommand(launch), env: Object.keys(env) }
  const operator = createOperator({
    output: { ...createOutput({}), note: () => {} },
    isInteractive: false,
    color: false,
    trust: { connections: 'unsuspicious', by: '--trust-config', duration: 'always' },
    allowedCommands: [],
    inTerminal: 'Run it in a terminal',
  })
  const request = { action, digest: 'x', findings: commandFindings(launch) } as unknown as ApprovalRequest
  return operator.approve(request).then(
    (approval) => (typeof approval === 'object' ? approval.decision : approval),
    () => 'refused',
  )
}

describe('a command without a person', () => {
  it.each(ordinaryCommands)('is started if it has a usual form: %s %j [HOST-009]', async (command, args, env) => {
    expect(await decisionFor(command, args, env)).toBe('always')
  })

  it.each([...hiddenCommands, ...unknownLaunchers])(
    'is not started otherwise: %s %j [HOST-009]',
    async (command, args) => {
      expect(await decisionFor(command, args)).toBe('refused')
    },
  )

  it.each(codeVariables)('is not started with the variable %s=%s [HOST-009]', async (name, value) => {
    expect(await decisionFor('node', ['server.js'], { [name]: value })).toBe('refused')
  })

  it.each([
    { name: 'gateway', options: ['--allow-all', '--trust-config'] },
    { name: 'serve', options: [] },
  ])('is not started by tenon $name, however it is spelled [HOST-009]', async ({ name, options }) => {
    using work = new Workspace()
    const marker = work.file('started')
    const commands = [...hiddenCommands, ...unknownLaunchers].filter(([, args]) => args.join().includes('MARK'))
    const servers = commands.map(([command, args], index) => [
      `s${index}`,
      { command, args: args.map((arg) => arg.replaceAll('MARK', marker)) },
    ])
    const config = work.write('mcp.json', { mcpServers: Object.fromEntries(servers) })
    const { code, stderr } = await work.run([name, config, '--port', '0', ...options])
    expect(code).toBe(4)
    expect(existsSync(marker)).toBe(false)
    const last = /approval first: ([^.]*)\./.exec(stderr.replaceAll(/\s+/g, ' '))?.[1]?.split(', ')
    expect(last?.sort()).toEqual(servers.map(([id]) => id).sort())
  })

  it('is started with such a variable only if the option names its value [HOST-009]', async () => {
    using work = new Workspace()
    const bin = dirname(process.execPath)
    const entry = { command: 'node', args: [fixture('notes.js')], env: { PATH: bin } }
    const config = work.write('mcp.json', { mcpServers: { notes: entry } })
    const args = ['gateway', config, '--allow-all', '--trust-config', '--port', '0', '--allow-command']
    for (const text of [`node ${fixture('notes.js')}`, `PATH=/elsewhere node ${fixture('notes.js')}`]) {
      const { code, stderr } = await work.run([...args, text])
      expect(code).toBe(4)
      expect(stderr).toContain(`--allow-command 'PATH=${bin} node ${fixture('notes.js')}'`)
    }
    await using gateway = work.start([...args, `PATH=${bin} node ${fixture('notes.js')}`])
    await using client = await connect(await urlOf(gateway))
    expect((await client.callTool('notes_add', { a: 1, b: 2 })).text).toBe('3')
  })

  it('is started with the printed option if the value of a variable has spaces and quotes [HOST-009]', async () => {
    using work = new Workspace()
    const module = work.write("it's.cjs", '')
    const start = (value: string, ...options: string[]) => {
      const env = { NODE_OPTIONS: value }
      const entry = { command: process.execPath, args: [fixture('notes.js')], env }
      const config = work.write('mcp.json', { mcpServers: { notes: entry } })
      return ['gateway', config, '--allow-all', '--trust-config', '--port', '0', ...options]
    }
    const { code, stderr } = await work.run(start(`--require "${module}"`))
    expect(code).toBe(4)
    const option = splitWords(/--allow-command '.*(?=\n)/.exec(stderr)?.[0] ?? 'none')
    expect(option).toHaveLength(2)
    for (const other of [`--require  "${module}"`, `--require\t"${module}"`, `--require\n"${module}"`]) {
      const refused = await work.run(start(other, ...option))
      expect(refused.code).toBe(4)
    }
    await using gateway = work.start(start(`--require "${module}"`, ...option))
    await using client = await connect(await urlOf(gateway))
    expect((await client.callTool('notes_add', { a: 1, b: 2 })).text).toBe('3')
  })
})

describe('what an option allowed', () => {
  it('is recorded as the option, not as the user [HOST-014]', async () => {
    using work = new Workspace()
    const audit = work.file('audit.jsonl')
    const options = ['--allow-all', '--trust-config', '--port', '0', '--audit', audit]
    await using gateway = work.start(['gateway', work.writeConfig(['notes']), ...options])
    await urlOf(gateway)
    gateway.child.kill('SIGTERM')
    await gateway.exited
    expect(decisionsIn(audit)).toEqual([{ allowed: true, by: 'program', reason: '--trust-config allowed it (always)' }])
  })
})

describe('tenon serve', () => {
  it('holds definitions that changed since the last run, and names the way out [HOST-009]', async () => {
    using work = new Workspace()
    const description = work.write('description', 'Reads the weather')
    const args = ['serve', '--port', '0', '--', process.execPath, fixture('notes.js'), description]
    {
      await using served = work.start(args)
      await using client = await connect(await urlOf(served))
      expect((await client.callTool('changing')).text).toBe('Reads the weather')
    }
    work.write('description', 'Reads the weather and your mail')
    const { code, stdout, stderr } = await work.run(args)
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    expect(stderr).toContain('definitions changed')
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain('once in a terminal')
  })

  it('starts a dangerous command that is on its own command line', async () => {
    using work = new Workspace()
    const { marker, command: _command } = withShell(work)
    const script = `touch ${marker}; exec ${process.execPath} ${fixture('notes.js')}`
    await using served = work.start(['serve', '--port', '0', '--', 'sh', '-c', script])
    await urlOf(served)
    expect(existsSync(marker)).toBe(true)
  })
})
