import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseServerConfigs } from '../../src/host/config/parse-config.ts'
import { minimalEnvironment } from '../../src/host/node/sandbox.ts'
import { bubblewrap, container } from '../../src/host/sandbox/runners.ts'
import type { Launch } from '../../src/host/sandbox/sandbox.ts'
import { errorOf } from '../kit/error-of.ts'
import { folder, setVariable } from './sandbox-support.ts'

/** Puts a program into PATH that prints the arguments and the environment that it gets. */
function install(name: string): string {
  const path = join(folder(), name)
  const program = 'console.log(JSON.stringify({ args: process.argv.slice(2), env: process.env }))'
  writeFileSync(path, `#!${process.execPath}\n${program}\n`, { mode: 0o755 })
  setVariable('PATH', `${join(path, '..')}:${process.env.PATH}`)
  return path
}

interface Received {
  args: string[]
  env: Record<string, string>
}

function run(launch: Launch): Received {
  return JSON.parse(execFileSync(launch.command, launch.args, { env: launch.env, cwd: launch.cwd, encoding: 'utf8' }))
}

const launchOf = (changes: Partial<Launch> = {}): Launch => ({
  command: 'node',
  args: ['/app/server.js', '--port=1'],
  env: { ...minimalEnvironment(), API_KEY: 'secret-value' },
  cwd: undefined,
  ...changes,
})

describe('container()', () => {
  it('runs without network, capabilities and root rights, on a read-only file system and with limits [SEC-014]', async () => {
    const docker = install('docker')
    const wrapped = await container({ image: 'node:22-slim' }).wrap(launchOf())
    const user = process.getuid?.() ? `${process.getuid()}:${process.getgid?.()}` : '65534:65534'
    expect(wrapped.command).toBe(docker)
    expect(wrapped.args).toEqual([
      'run',
      '--rm',
      '--interactive',
      '--init',
      '--network=none',
      '--read-only',
      '--tmpfs=/tmp:rw,nosuid,nodev,size=64m',
      '--cap-drop=ALL',
      '--security-opt=no-new-privileges',
      '--memory=536870912',
      '--pids-limit=256',
      `--user=${user}`,
      '--env=API_KEY',
      '--entrypoint=node',
      'node:22-slim',
      '/app/server.js',
      '--port=1',
    ])
    expect(wrapped.cwd).toBeUndefined()
  })

  it('passes variables by name, so that no secret is in the list of processes [SEC-014]', async () => {
    install('docker')
    const { args, env } = run(await container({ image: 'a' }).wrap(launchOf()))
    expect(args).toContain('--env=API_KEY')
    expect(JSON.stringify(args)).not.toContain('secret-value')
    expect(env.API_KEY).toBe('secret-value')
    expect(args.filter((arg) => /^--env=(?:PATH|HOME|USER)/.test(arg))).toEqual([])
  })

  it('keeps variables of the server away from the program that confines it', async () => {
    install('docker')
    setVariable('DOCKER_HOST', 'unix:///run/ours.sock')
    const env = {
      ...minimalEnvironment(),
      LD_PRELOAD: '/evil.so',
      DOCKER_HOST: 'tcp://evil',
      HOME: '/data',
      PATH: '/evil',
    }
    const wrapped = await container({ image: 'a' }).wrap(launchOf({ env }))
    expect(wrapped.args).toEqual(
      expect.arrayContaining([
        '--env=LD_PRELOAD=/evil.so',
        '--env=DOCKER_HOST=tcp://evil',
        '--env=HOME=/data',
        '--env=PATH=/evil',
      ]),
    )
    expect(wrapped.env).toMatchObject({ DOCKER_HOST: 'unix:///run/ours.sock', PATH: process.env.PATH })
    expect(wrapped.env).not.toHaveProperty('LD_PRELOAD')
  })

  it('mounts what is listed, read-only unless write is set, and maps the working directory', async () => {
    install('podman')
    const sandbox = container({
      runtime: 'podman',
      image: 'localhost/app@sha256:00ff',
      mounts: [
        { source: '/srv/a,b', target: '/app' },
        { source: '/data', write: true },
      ],
      network: 'intern',
      user: '1000:1000',
      maxMemoryBytes: 1_000,
      maxProcesses: 9,
      extraArgs: ['--cpus=1'],
    })
    const { args } = await sandbox.wrap(launchOf({ cwd: '/srv/a,b/sub' }))
    expect(args).toEqual(
      expect.arrayContaining([
        '--mount=type=bind,"source=/srv/a,b",target=/app,readonly',
        '--mount=type=bind,source=/data,target=/data',
        '--workdir=/app/sub',
        '--network=intern',
        '--user=1000:1000',
        '--memory=1000',
        '--pids-limit=9',
      ]),
    )
    expect(args.slice(args.indexOf('--cpus=1'))).toEqual([
      '--cpus=1',
      'localhost/app@sha256:00ff',
      '/app/server.js',
      '--port=1',
    ])
    const open = await container({ runtime: 'podman', image: 'a', network: true }).wrap(launchOf())
    expect(open.args.filter((arg) => arg.startsWith('--network'))).toEqual([])
  })

  it('refuses images and variables that the runtime would take as something else', async () => {
    install('docker')
    for (const image of ['--privileged', '', 'a b', '-v=/:/host'])
      expect(() => container({ image })).toThrow('Invalid image')
    expect(() => container({ image: 'a', mounts: [{ source: 'relative' }] })).toThrow('must be an absolute path')
    const error = await errorOf(Promise.resolve(container({ image: 'a' }).wrap(launchOf({ env: { 'AWS*': '1' } }))))
    expect(error.message).toContain('Invalid name of an environment variable for a container: "AWS*"')
    const cwd = await errorOf(Promise.resolve(container({ image: 'a' }).wrap(launchOf({ cwd: '/srv' }))))
    expect(cwd.message).toBe('The folder /srv (`cwd`) is not visible in the container. Add it to `mounts`.')
  })

  it('says what to do if the program is not installed', async () => {
    setVariable('PATH', folder())
    const error = await errorOf(Promise.resolve(container({ image: 'a', runtime: 'podman' }).wrap(launchOf())))
    expect(error.code).toBe('spawn-failed')
    expect(error.message).toBe(
      'The sandbox needs the program podman, which is not in PATH. Install podman, or remove `sandbox` from the server.',
    )
  })

  it('can be configured in a file', async () => {
    install('docker')
    const json = '{ "a": { "command": "node", "sandbox": { "container": { "image": "node:22", "network": true } } } }'
    const { a } = parseServerConfigs(JSON.parse(json), { env: {}, cwd: '/' })
    const sandbox = a && 'sandbox' in a ? a.sandbox : undefined
    expect((await sandbox?.wrap(launchOf()))?.args).toContain('node:22')
  })
})

describe('bubblewrap()', () => {
  /** A program in a place that the sandbox can be told to show. */
  function program(): { path: string; dir: string } {
    const dir = folder()
    const path = join(dir, 'server')
    writeFileSync(path, '#!/bin/sh\n', { mode: 0o755 })
    return { path, dir }
  }

  it('isolates the process, with private folders and read-only system files [SEC-014]', async () => {
    const bwrap = install('bwrap')
    const { path, dir } = program()
    const launch = launchOf({
      command: path,
      cwd: dir,
      env: { ...minimalEnvironment(), HOME: '/home/me', API_KEY: 'secret-value' },
    })
    const wrapped = await bubblewrap({ read: [dir], write: ['/data'] }).wrap(launch)
    const text = wrapped.args.join(' ')
    expect(wrapped.command).toBe(bwrap)
    expect(text).toMatch(
      /^--unshare-all --die-with-parent --new-session --cap-drop ALL --proc \/proc --dev \/dev --tmpfs \/tmp --tmpfs \/home\/me /,
    )
    expect(text).toContain('--ro-bind-try /usr /usr')
    expect(text).toContain(`--ro-bind ${dir} ${dir} --bind /data /data`)
    expect(text.endsWith(`--chdir ${dir} -- ${path} /app/server.js --port=1`)).toBe(true)
    expect(text).not.toMatch(/share-net|resolv\.conf|secret-value|--ro-bind-try \/(?:etc|home) /)
    expect(wrapped.env.API_KEY).toBe('secret-value')
  })

  it('shares the network only if it is allowed, with the files that it needs', async () => {
    install('bwrap')
    const { path, dir } = program()
    const { args } = await bubblewrap({ read: [dir], network: true }).wrap(launchOf({ command: path }))
    expect(args.slice(0, 2)).toEqual(['--unshare-all', '--share-net'])
    expect(args).toContain('/etc/resolv.conf')
  })

  it('does not let variables load code into bwrap itself', async () => {
    install('bwrap')
    const { path, dir } = program()
    const env = { ...minimalEnvironment(), LD_PRELOAD: '/evil.so' }
    const wrapped = await bubblewrap({ read: [dir] }).wrap(launchOf({ command: path, env }))
    expect(wrapped.env).not.toHaveProperty('LD_PRELOAD')
    expect(wrapped.args.join(' ')).toContain('--setenv LD_PRELOAD /evil.so')
  })

  it('says what is not visible in the sandbox', async () => {
    install('bwrap')
    const { path, dir } = program()
    const link = join(folder(), 'link')
    symlinkSync(path, link)
    const problem = async (launch: Partial<Launch>, read: string[] = []) =>
      (await errorOf(Promise.resolve(bubblewrap({ read }).wrap(launchOf(launch))))).message
    expect(await problem({ command: path })).toBe(
      `The program ${path} is not visible in the sandbox. Add its folder to \`read\`.`,
    )
    expect(await problem({ command: link }, [join(link, '..')])).toContain(`The program ${path} is not visible`)
    expect(await problem({ command: 'no-such-program' })).toContain('Program not found: no-such-program')
    expect(await problem({ command: path, cwd: '/home/me' }, [dir])).toContain(
      'The folder /home/me (`cwd`) is not visible in the sandbox.',
    )
    expect(() => bubblewrap({ read: ['relative'] })).toThrow('must be an absolute path')
  })

  it('says what to do if bwrap is not installed', async () => {
    setVariable('PATH', folder())
    const error = await errorOf(Promise.resolve(bubblewrap().wrap(launchOf())))
    expect(error.code).toBe('spawn-failed')
    expect(error.message).toContain('Install the package "bubblewrap" (Linux only), or use container().')
  })

  const reason = whyNoBubblewrap()
  if (reason) console.log(`[skipped] tests with the real bwrap: ${reason}`)

  it.skipIf(reason)('confines a real process: no foreign files, no network, a private /tmp [SEC-014]', async () => {
    const [shown, hidden] = [folder(), folder()]
    writeFileSync(join(shown, 'a.txt'), 'shown')
    writeFileSync(join(hidden, 'b.txt'), 'hidden')
    const script = [
      `cat ${shown}/a.txt; echo`,
      `cat ${hidden}/b.txt 2>/dev/null || echo 'no hidden file'`,
      `(echo x > ${shown}/c.txt) 2>/dev/null || echo 'no change'`,
      'echo x > /tmp/d.txt && ls /tmp',
      'grep -c : /proc/net/dev',
      'echo $KEY',
    ].join('\n')
    const env = { ...minimalEnvironment(), KEY: 'passed' }
    const launch = await bubblewrap({ read: [shown] }).wrap(launchOf({ command: 'sh', args: ['-c', script], env }))
    const output = execFileSync(launch.command, launch.args, { env: launch.env, encoding: 'utf8' })
    // The only network interface is the loopback one.
    const expected = ['shown', 'no hidden file', 'no change', 'd.txt', basename(shown), '1', 'passed']
    expect(output.trim().split('\n')).toEqual(expected)
    expect(existsSync('/tmp/d.txt')).toBe(false)
  })
})

/** Containers often have bwrap, but no right to use it. */
function whyNoBubblewrap(): string | undefined {
  const result = spawnSync('bwrap', ['--unshare-all', '--ro-bind', '/', '/', 'true'], { encoding: 'utf8' })
  if (result.error) return 'bwrap is not installed'
  return result.status === 0 ? undefined : `bwrap does not work here: ${result.stderr.trim()}`
}
