import { McpError } from '../../errors.ts'
import { splitEnvironment } from './outer-environment.ts'
import { isAbsolutePath, isWithin, isWithinAny } from './paths.ts'
import type { Launch, Sandbox } from './sandbox.ts'

/** A folder or file of this machine that a container sees. */
export interface Mount {
  /** An absolute path on this machine. */
  source: string
  /** The path in the container. Default: the same as `source`. */
  target?: string | undefined
  /** Lets the server change it. Default false. */
  write?: boolean | undefined
}

/** Options of `container`. */
export interface ContainerOptions {
  /** The command line program. Default `docker`. */
  runtime?: 'docker' | 'podman' | undefined
  /** The image that contains the program, best with a digest: `node:22-slim@sha256:...`. */
  image: string
  /** Default: none. */
  mounts?: readonly Mount[] | undefined
  /** `true` for the default network of the runtime, or the name of a network. Default false: no network. */
  network?: boolean | string | undefined
  /** The user in the container, such as `1000:1000`. Default: the user of this process, or `65534:65534` for root. */
  user?: string | undefined
  /** Default 536,870,912 (512 MiB). */
  maxMemoryBytes?: number | undefined
  /** Default 256. */
  maxProcesses?: number | undefined
  /** More options for `run`. They come last, so they override the others. */
  extraArgs?: readonly string[] | undefined
}

/**
 * Runs a server in a container: no network, a read-only file system, no capabilities, not as root, with limits. Environment
 * variables are passed by name, so that their values are not in the list of processes.
 *
 * @example
 * { command: 'node', args: ['/app/server.js'], sandbox: container({ image: 'node:22-slim', mounts: [{ source: '/srv/app', target: '/app' }] }) }
 */
export function container(options: ContainerOptions): Sandbox {
  const { runtime = 'docker', image, mounts = [] } = options
  if (!/^[\w][\w./:@-]*$/.test(image))
    throw new McpError(
      'invalid-argument',
      `Invalid image: ${JSON.stringify(image)}. Use a name such as "node:22-slim".`,
    )
  for (const { source, target } of mounts) {
    checkAbsolute(source, 'the source of a mount')
    if (target !== undefined) checkAbsolute(target, 'the target of a mount')
  }
  return {
    async wrap(launch) {
      const { currentUser, runtimeEnvironment } = await import('../node/sandbox.ts')
      const program = await findRunner(runtime, `Install ${runtime}, or remove \`sandbox\` from the server.`)
      const outer = runtimeEnvironment()
      const inner = splitEnvironment(launch.env, outer)
      const args = containerArguments(launch, { ...options, runtime, mounts }, inner, currentUser())
      return { command: program, args, env: { ...outer, ...inner.byName }, cwd: undefined }
    },
  }
}

interface InnerEnvironment {
  readonly byName: Readonly<Record<string, string>>
  readonly byValue: Readonly<Record<string, string>>
}

type ResolvedContainer = ContainerOptions & Required<Pick<ContainerOptions, 'runtime' | 'mounts'>>

function containerArguments(
  launch: Launch,
  options: ResolvedContainer,
  env: InnerEnvironment,
  ownUser: string | undefined,
): string[] {
  const { image, mounts, extraArgs = [], maxMemoryBytes = 536_870_912, maxProcesses = 256 } = options
  const workdir = launch.cwd === undefined ? undefined : pathInContainer(launch.cwd, mounts)
  return [
    // The container ends with the server, and a small init process passes signals on to it.
    ...['run', '--rm', '--interactive', '--init'],
    ...networkArguments(options.network),
    ...['--read-only', '--tmpfs=/tmp:rw,nosuid,nodev,size=64m'],
    ...['--cap-drop=ALL', '--security-opt=no-new-privileges'],
    ...[`--memory=${maxMemoryBytes}`, `--pids-limit=${maxProcesses}`],
    ...userArguments(options, ownUser),
    ...mounts.map(mountArgument),
    ...Object.keys(env.byName).map((name) => `--env=${checkName(name)}`),
    ...Object.entries(env.byValue).map(([name, value]) => `--env=${checkName(name)}=${value}`),
    ...(workdir === undefined ? [] : [`--workdir=${workdir}`]),
    // Otherwise the program of the image would run, with the command as its arguments.
    `--entrypoint=${launch.command}`,
    ...extraArgs,
    image,
    ...launch.args,
  ]
}

function networkArguments(network: boolean | string = false): string[] {
  if (network === true) return []
  return [`--network=${network === false ? 'none' : network}`]
}

function userArguments({ runtime, user }: ResolvedContainer, ownUser: string | undefined): string[] {
  const chosen = user ?? ownUser ?? '65534:65534'
  // Without root rights, podman maps users to other ones, who could not read the mounted files.
  const keepsId = runtime === 'podman' && user === undefined && ownUser !== undefined
  return [...(keepsId ? ['--userns=keep-id'] : []), `--user=${chosen}`]
}

/** The value is a line of CSV, so paths with a comma or a quotation mark are quoted. */
function mountArgument({ source, target = source, write = false }: Mount): string {
  const fields = ['type=bind', `source=${source}`, `target=${target}`, ...(write ? [] : ['readonly'])]
  return `--mount=${fields.map((field) => (/[",]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(',')}`
}

/** podman takes a name that ends with `*` as a pattern for variables of this machine. */
function checkName(name: string): string {
  if (/^[A-Za-z_][\w.-]*$/.test(name)) return name
  throw new McpError(
    'invalid-argument',
    `Invalid name of an environment variable for a container: ${JSON.stringify(name)}.`,
  )
}

function pathInContainer(path: string, mounts: readonly Mount[]): string {
  const mount = mounts.find(({ source }) => isWithin(path, source))
  if (mount) return (mount.target ?? mount.source) + path.slice(mount.source.replace(/\/$/, '').length)
  throw new McpError(
    'invalid-argument',
    `The folder ${path} (\`cwd\`) is not visible in the container. Add it to \`mounts\`.`,
  )
}

/** Options of `bubblewrap`. */
export interface BubblewrapOptions {
  /** Folders and files that the server can read, besides the programs and libraries of the system. Default: none. */
  read?: readonly string[] | undefined
  /** Folders and files that the server can read and change. Default: none. */
  write?: readonly string[] | undefined
  /** Default false. */
  network?: boolean | undefined
}

/**
 * Confines a server on Linux with `bwrap`, without root rights: it sees the programs of the system, an empty home directory, an
 * empty `/tmp`, and what you list. No network, no other processes.
 *
 * @example
 * { command: 'node', args: ['/srv/app/server.js'], sandbox: bubblewrap({ read: ['/srv/app'] }) }
 */
export function bubblewrap(options: BubblewrapOptions = {}): Sandbox {
  const { read = [], write = [] } = options
  for (const path of [...read, ...write]) checkAbsolute(path, 'a path of `read` or `write`')
  return {
    async wrap(launch) {
      const { minimalEnvironment } = await import('../node/sandbox.ts')
      const program = await findRunner('bwrap', 'Install the package "bubblewrap" (Linux only), or use container().')
      const visible = [...systemPaths, ...read, ...write]
      await checkVisible(launch, visible)
      const outer = minimalEnvironment()
      const inner = splitEnvironment(launch.env, outer)
      const args = bubblewrapArguments(launch, { ...options, read, write }, inner.byValue)
      return { command: program, args, env: { ...outer, ...inner.byName }, cwd: undefined }
    },
  }
}

/** Programs and libraries. Many are symbolic links to `/usr`, and not every system has all of them. */
const systemPaths = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/nix/store']

/** The parts of `/etc` that programs need to start; nothing that identifies the machine or its users. */
const systemFiles = ['/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d', '/etc/alternatives', '/etc/localtime']

const networkFiles = [
  '/etc/resolv.conf',
  '/etc/hosts',
  '/etc/nsswitch.conf',
  '/etc/ssl',
  '/etc/pki',
  '/etc/ca-certificates',
]

function bubblewrapArguments(
  launch: Launch,
  { read, write, network = false }: BubblewrapOptions & { read: readonly string[]; write: readonly string[] },
  byValue: Readonly<Record<string, string>>,
): string[] {
  const home = launch.env.HOME
  const hasHome =
    home !== undefined && isAbsolutePath(home) && !isWithinAny(home, ['/tmp', ...systemPaths]) && home !== '/'
  return [
    ...['--unshare-all', ...(network ? ['--share-net'] : [])],
    // Without a session of its own, the server could type into the terminal of the user.
    ...['--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
    ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
    ...(hasHome ? ['--tmpfs', home] : []),
    ...[...systemPaths, ...systemFiles, ...(network ? networkFiles : [])].flatMap((path) => [
      '--ro-bind-try',
      path,
      path,
    ]),
    ...read.flatMap((path) => ['--ro-bind', path, path]),
    ...write.flatMap((path) => ['--bind', path, path]),
    ...Object.entries(byValue).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--chdir', launch.cwd ?? '/'],
    ...['--', launch.command, ...launch.args],
  ]
}

/** Fails with a way out, where `bwrap` would say only that a file does not exist. */
async function checkVisible(launch: Launch, visible: readonly string[]): Promise<void> {
  const { findProgram } = await import('../node/sandbox.ts')
  const found = await findProgram(launch.command, { path: launch.env.PATH, cwd: launch.cwd })
  if (!found)
    throw new McpError('spawn-failed', `Program not found: ${launch.command}. Install it, or write its full path.`)
  for (const path of [found.path, found.realPath]) {
    if (!isWithinAny(path, visible))
      throw new McpError(
        'spawn-failed',
        `The program ${path} is not visible in the sandbox. Add its folder to \`read\`.`,
      )
  }
  if (launch.cwd !== undefined && !isWithinAny(launch.cwd, ['/tmp', ...visible]))
    throw new McpError(
      'spawn-failed',
      `The folder ${launch.cwd} (\`cwd\`) is not visible in the sandbox. Add it to \`read\` or \`write\`.`,
    )
}

async function findRunner(name: string, wayOut: string): Promise<string> {
  const { findProgram } = await import('../node/sandbox.ts')
  const found = await findProgram(name)
  if (found) return found.path
  throw new McpError('spawn-failed', `The sandbox needs the program ${name}, which is not in PATH. ${wayOut}`)
}

function checkAbsolute(path: string, what: string): void {
  if (isAbsolutePath(path)) return
  throw new McpError(
    'invalid-argument',
    `Invalid sandbox: ${what} must be an absolute path, not ${JSON.stringify(path)}.`,
  )
}
