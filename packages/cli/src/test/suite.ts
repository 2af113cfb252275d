import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { isObject, type JsonObject } from 'tenon/internal'
import { CliError } from '../exit-codes.ts'

/** The package with the official scenarios, and the version that is downloaded if none is installed. */
const packageName = '@modelcontextprotocol/conformance'
const knownVersion = '0.2.0-alpha.12'

/** A scenario of the suite, and the revisions it is for. */
export interface Scenario {
  readonly name: string
  readonly revisions: readonly string[]
}

/** A check within a scenario. */
export interface SuiteCheck {
  readonly id: string
  readonly status: string
  readonly message: string
}

/** The official conformance suite, which is not a dependency of this package. */
export class Suite {
  readonly #command: string
  readonly #args: readonly string[]
  readonly version: string

  private constructor(command: string, args: readonly string[], version: string) {
    this.#command = command
    this.#args = args
    this.version = version
  }

  /** False if npx may have to download it. */
  get isInstalled(): boolean {
    return this.#command !== 'npx'
  }

  /** Finds the suite: installed in the current folder or beside this package, otherwise by npx unless `download` is false. */
  static find({ download }: { readonly download: boolean }): Suite {
    for (const from of [join(process.cwd(), 'index.js'), import.meta.url]) {
      const installed = findInstalled(from)
      if (installed) return new Suite(installed.node, [installed.program], installed.version)
    }
    if (!download) throw notFound('It is not installed in the current folder.')
    const packages = ['--package', `${packageName}@${knownVersion}`, ...(isNewNode() ? [] : ['--package', 'node@24'])]
    return new Suite('npx', ['--yes', ...packages, '--', 'conformance'], knownVersion)
  }

  /** Lists the scenarios for servers. */
  async list(): Promise<Scenario[]> {
    const { output, exitCode } = await this.#run(['list', '--server'], listTimeoutMs)
    const rows = [...output.matchAll(/^\s*- ([\w./-]+) \[([^\]]*)\]/gm)]
    if (exitCode !== 0 || rows.length === 0) throw notFound(lastLine(output))
    return rows.map(([, name = '', revisions = '']) => ({ name, revisions: revisions.split(',') }))
  }

  /** Runs a scenario against a server. Undefined if it did not come to its end. */
  async run(scenario: string, url: string, revision: string, timeoutMs: number): Promise<SuiteCheck[] | undefined> {
    const folder = mkdtempSync(join(tmpdir(), 'tenon-test-'))
    try {
      const choice = ['--scenario', scenario, '--spec-version', revision, '--force', '--timeout', String(timeoutMs)]
      await this.#run(['server', '--url', url, ...choice, '-o', folder], timeoutMs + 30_000)
      return readChecks(folder)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }

  #run(args: readonly string[], timeoutMs: number): Promise<{ output: string; exitCode: number | null }> {
    return new Promise((resolve, reject) => {
      const child = spawn(this.#command, [...this.#args, ...args], {
        stdio: ['ignore', 'pipe', 'pipe'],
        shell: process.platform === 'win32' && this.#command === 'npx',
      })
      let output = ''
      const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => {
          if (output.length < maxOutput) output += text
        })
      child.once('error', (cause) => reject(notFound(cause.message)))
      child.once('close', (exitCode) => {
        clearTimeout(timer)
        resolve({ output, exitCode })
      })
    })
  }
}

/** A download may be part of it. */
const listTimeoutMs = 180_000
const maxOutput = 1_000_000

function notFound(reason: string): CliError {
  const hint = `Run "npm install --save-dev ${packageName}" in this folder. It needs Node.js 22 or newer: install the package "node" beside it if yours is older. Or run only the safety checks: --attack --no-conformance.`
  return new CliError('no-conformance-suite', `The official conformance suite is not available: ${reason}`, { hint })
}

interface Installed {
  readonly node: string
  readonly program: string
  readonly version: string
}

function findInstalled(from: string): Installed | undefined {
  const folder = findFolder(from)
  if (folder === undefined) return undefined
  const { version, bin } = readJson(join(folder, 'package.json'))
  const program = typeof bin === 'string' ? bin : isObject(bin) ? String(Object.values(bin)[0]) : 'dist/index.js'
  const node = isNewNode() ? process.execPath : findNode(dirname(dirname(folder)))
  return node === undefined ? undefined : { node, program: join(folder, program), version: String(version) }
}

function findFolder(from: string): string | undefined {
  const paths = createRequire(from).resolve.paths(packageName) ?? []
  return paths.map((path) => join(path, packageName)).find((path) => existsSync(join(path, 'package.json')))
}

/** npm can install Node.js as a package: `node`, or one for a platform. */
function findNode(modules: string): string | undefined {
  const names = ['node', `node-${process.platform}-${process.arch}`]
  return names.map((name) => join(modules, name, 'bin', 'node')).find((path) => existsSync(path))
}

function isNewNode(): boolean {
  return Number(process.versions.node.split('.')[0]) >= 22
}

/** The suite writes one folder per scenario with a file `checks.json`. */
function readChecks(folder: string): SuiteCheck[] | undefined {
  const file = readdirSync(folder, { recursive: true, encoding: 'utf8' }).find((path) => path.endsWith('checks.json'))
  if (file === undefined) return undefined
  const checks: unknown = JSON.parse(readFileSync(join(folder, file), 'utf8'))
  return (Array.isArray(checks) ? checks : []).filter(isObject).map(toCheck)
}

function toCheck({ id, status, errorMessage, description }: JsonObject): SuiteCheck {
  return { id: String(id), status: String(status), message: String(errorMessage ?? description ?? '') }
}

function readJson(path: string): JsonObject {
  const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
  return isObject(value) ? value : {}
}

function lastLine(output: string): string {
  return output.trim().split('\n').at(-1) ?? 'it ended without output'
}
