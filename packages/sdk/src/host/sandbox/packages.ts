import type { Finding } from '../findings/finding.ts'
import { toExcerpt } from '../findings/visible.ts'
import type { SimpleCommand } from './commands.ts'
import { danger } from './danger.ts'
import { knownPackage, latinAppearance, type Registry } from './known-packages.ts'

/** Finds packages that are downloaded and run: without a fixed version, or with a name that imitates a well-known one. */
export function packageFindings(command: SimpleCommand): Finding[] {
  const found = packageOf(command)
  if (!found) return []
  const findings: Finding[] = []
  const original = knownPackage(found.name, found.registry)
  if (original !== undefined && original !== found.name) {
    const message = `The name of the package "${found.name}" looks like "${original}". Check that it is the one that you want.`
    findings.push(danger('high', message, found.name))
  }
  if (found.isUnpinned) {
    const message = `Runs the version of "${found.name}" that is newest at each start. Pin a version to run the same code every time.`
    findings.push(danger('low', message, command.text))
  }
  return findings
}

/** Finds a program or package whose name has letters of other scripts in place of Latin ones. */
export function lookAlikeFindings(command: SimpleCommand): Finding[] {
  const names = [command.program, packageOf(command)?.name ?? '']
  return names.flatMap((name) => {
    const latin = latinAppearance(name)
    if (latin === undefined) return []
    const message = `The name "${name}" is not "${latin}": it has letters of another script that look the same.`
    return [{ rule: 'look-alike', severity: 'high', where: 'command', message, excerpt: toExcerpt(name) }]
  })
}

interface UsedPackage {
  readonly name: string
  readonly registry: Registry
  readonly isUnpinned: boolean
}

function packageOf({ program, args }: SimpleCommand): UsedPackage | undefined {
  const [first = '', second = ''] = args
  if (program === 'npx' || program === 'pnpx' || program === 'bunx') return npmPackage(args, program !== 'npx')
  if (program === 'npm' && (first === 'exec' || first === 'x')) return npmPackage(args.slice(1), false)
  if ((program === 'pnpm' || program === 'yarn') && first === 'dlx') return npmPackage(args.slice(1), true)
  if (program === 'bun' && first === 'x') return npmPackage(args.slice(1), true)
  if (program === 'uvx') return pythonPackage(args)
  if (program === 'uv' && first === 'tool' && second === 'run') return pythonPackage(args.slice(2))
  if (program === 'pipx' && first === 'run') return pythonPackage(args.slice(1))
  return /^(?:docker|podman|nerdctl)$/.test(program) ? imageOf(args) : undefined
}

const npmPackageOptions = ['-p', '--package']
const npmValuedOptions = ['--registry', '--prefix', '-c', '--call', '--cache', '-w', '--workspace', '--userconfig']

/** @param isSilent Whether the program downloads without asking. npx does so with `--yes`. */
function npmPackage(args: readonly string[], isSilent: boolean): UsedPackage | undefined {
  const { operand, options } = readOptions(args, npmPackageOptions, npmValuedOptions)
  const spec = options.get('-p') ?? options.get('--package') ?? operand
  if (spec === undefined || isLocal(spec)) return undefined
  const isUnpinned = isSilent || options.has('-y') || options.has('--yes')
  if (isRepository(spec)) return { name: spec, registry: 'npm', isUnpinned: isUnpinned && !/#[\da-f]{40}$/.test(spec) }
  const at = spec.indexOf('@', 1)
  const version = at < 0 ? '' : spec.slice(at + 1)
  const isExact = /^v?\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/.test(version)
  return { name: at < 0 ? spec : spec.slice(0, at), registry: 'npm', isUnpinned: isUnpinned && !isExact }
}

const pythonPackageOptions = ['--from', '--spec']
const pythonValuedOptions = [
  '--with',
  '-w',
  '--python',
  '-p',
  '--index-url',
  '--index',
  '-i',
  '--extra-index-url',
  '--default-index',
  '--directory',
  '--refresh-package',
  '--env-file',
  '--cache-dir',
  '--constraints',
  '-c',
  '--prerelease',
  '--index-strategy',
]

function pythonPackage(args: readonly string[]): UsedPackage | undefined {
  const { operand, options } = readOptions(args, pythonPackageOptions, pythonValuedOptions)
  const spec = options.get('--from') ?? options.get('--spec') ?? operand
  if (spec === undefined || isLocal(spec)) return undefined
  if (isRepository(spec)) return { name: spec, registry: 'pypi', isUnpinned: !/@[\da-f]{40}$/.test(spec) }
  const name = /^[^@=<>!~;[\s]+/.exec(spec)?.[0] ?? spec
  const isExact = /(?:==|@)\s*v?\d[\w.+!-]*$/.test(spec.slice(name.length))
  return { name, registry: 'pypi', isUnpinned: !isExact }
}

/** The image is the first operand after `run`. Options with a value cannot be told apart, so known names are looked for. */
function imageOf(args: readonly string[]): UsedPackage | undefined {
  const images = args.slice(1).filter((arg) => /^[\w.-]+(?:\/[\w.-]+)+(?:[:@][\w:.-]+)?$/.test(arg))
  const names = images.map((image) => image.replace(/(?:@.*|:[\w.-]+)$/, ''))
  const name = names.find((each) => knownPackage(each, 'image') !== undefined)
  return name === undefined ? undefined : { name, registry: 'image', isUnpinned: false }
}

interface ReadOptions {
  readonly operand: string | undefined
  readonly options: ReadonlyMap<string, string>
}

/** Reads options up to the first operand, which is the package or its program. */
function readOptions(args: readonly string[], wanted: readonly string[], valued: readonly string[]): ReadOptions {
  const options = new Map<string, string>()
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? ''
    if (arg === '--') return { operand: args[index + 1], options }
    if (!arg.startsWith('-')) return { operand: arg, options }
    const [name = arg, value] = splitOption(arg)
    const takesNext = value === undefined && (wanted.includes(name) || valued.includes(name))
    options.set(name, value ?? (takesNext ? (args[++index] ?? '') : ''))
  }
  return { operand: undefined, options }
}

function splitOption(arg: string): [string, string | undefined] {
  const at = arg.indexOf('=')
  return at < 0 ? [arg, undefined] : [arg.slice(0, at), arg.slice(at + 1)]
}

function isLocal(spec: string): boolean {
  return /^(?:[./~\\]|file:|[A-Za-z]:[\\/])/.test(spec)
}

function isRepository(spec: string): boolean {
  return /^(?:git[+:@]|https?:|ssh:|github:|gitlab:|bitbucket:)/.test(spec) || /^[\w-]+\/[\w.-]+(?:#.*)?$/.test(spec)
}
