import { expect, it } from 'vitest'
import { addressOf, openClient, type Target } from './open-client.ts'

const stop = new Error('stop before the connection')

/** What the user is asked to approve for a configuration. */
async function approvalFor(config: object): Promise<Target> {
  let asked: Target | undefined
  const approve = async (target: Target) => {
    asked = target
    throw stop
  }
  const options = { config, info: { name: 'x', version: '1' }, connectTimeoutMs: 1_000, approve }
  await expect(openClient(options as never, {})).rejects.toBe(stop)
  return asked!
}

const rules = ({ findings }: Target) => findings.map(({ rule, where }) => `${rule} ${where}`)

it('asks for approval of the command with its variables, or of the URL [HOST-009]', async () => {
  const env = { TOKEN: 't', PATH: '/b', A: '1' }
  const command = await approvalFor({ command: 'node', args: ['a.js'], env })
  expect(command).toMatchObject({ target: 'node a.js', env: ['A', 'PATH', 'TOKEN'], variables: [['PATH', '/b']] })
  expect(await approvalFor({ url: 'https://a.example/mcp', headers: { authorization: 'x' } })).toEqual({
    target: 'https://a.example/mcp',
    env: [],
    variables: [],
    findings: [],
  })
})

it('judges the command in a sandbox by its own form, and the program that confines by its options [HOST-009]', async () => {
  const wrapIn =
    (command: string, ...args: string[]) =>
    async (launch: { command: string; args: readonly string[] }) => ({
      ...launch,
      command,
      args: [...args, launch.command, ...launch.args],
      env: { PATH: '/usr/bin' },
    })
  const inner = (command: string, wrap: unknown) => approvalFor({ command, args: ['a.js'], sandbox: { wrap } })
  expect(rules(await inner('node', wrapIn('/usr/bin/bwrap', '--unshare-all')))).toEqual([])
  expect(rules(await inner('frobnicate', wrapIn('/usr/bin/bwrap')))).toEqual(['unknown-launcher command'])
  // Another program that confines has to have a usual form itself. Its variables are those of this machine.
  expect(rules(await inner('node', wrapIn('firejail')))).toEqual(['unknown-launcher command'])
  const privileged = await inner('node', wrapIn('docker', 'run', '--privileged', 'image'))
  expect(privileged.findings.some(({ message }) => message.includes('--privileged'))).toBe(true)
  expect(privileged.env).toEqual(['PATH'])
  expect(privileged.variables).toEqual([])
  expect(rules(await approvalFor({ command: 'frobnicate', env: { PATH: '/b' } }))).toEqual([
    'unknown-launcher command',
    'unknown-launcher environment variable PATH',
  ])
})

it('shows the address of each kind of server', () => {
  expect(addressOf({ server: {} } as never)).toBe('in this process')
  expect(addressOf({ url: 'https://a.example' })).toBe('https://a.example')
  expect(addressOf({ command: 'node', args: ['a b'] })).toContain("node 'a b'")
})
