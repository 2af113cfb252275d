import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { printReasons, reasonFor } from './report.js'

const notStories = new Set(['shared', 'guides', 'server-quickstart', 'client-quickstart', 'node_modules'])
const firstPort = 18_530

/** Runs each example on every transport and era that it supports. A leg passes if its client exits with 0. */
export async function runExamples({ work, home, names, expected, isVerbose }) {
  const folder = join(work, 'examples')
  const stories = readdirSync(folder)
    .filter((name) => !notStories.has(name) && existsSync(join(folder, name, 'client.ts')))
    .filter((name) => names.length === 0 || names.includes(name))
    .toSorted()
  const reasons = new Map()
  const unexplained = []
  let passed = 0
  let failed = 0
  for (const [index, story] of stories.entries()) {
    const config = readConfig(join(folder, story))
    if (config.excluded) {
      console.log(`skipped  ${story}: ${config.excluded}`)
      continue
    }
    for (const leg of legsOf(config)) {
      const problem = await runLeg({ folder: join(folder, story), work, home, config, leg, port: firstPort + index })
      console.log(`${problem ? 'failed ' : 'passed '}  ${story} ${leg.transport}/${leg.era}`)
      if (!problem) passed++
      else failed++
      if (!problem) continue
      const reason = reasonFor(expected, 'examples', `${story} ${leg.transport}/${leg.era}`)
      if (!reason) unexplained.push(`${story} ${leg.transport}/${leg.era}: ${lastLines(problem, isVerbose ? 60 : 12)}`)
      reasons.set(reason ?? 'not explained', (reasons.get(reason ?? 'not explained') ?? 0) + 1)
    }
  }
  printReasons(reasons, unexplained)
  console.log(`examples: ${passed} of ${passed + failed} legs passed`)
}

function readConfig(folder) {
  const file = join(folder, 'package.json')
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')).example ?? {}) : {}
}

function legsOf({ transports = ['stdio', 'http'], era = 'dual' }) {
  const eras = era === 'dual' ? ['modern', 'legacy'] : [era]
  return transports.flatMap((transport) => eras.map((each) => ({ transport, era: each })))
}

/** Returns the output of a leg that failed. */
async function runLeg({ folder, work, home, config, leg, port: assigned }) {
  const tsx = ['--import', join(home, 'node_modules/tsx/dist/esm/index.mjs')]
  const isModern = leg.era === 'modern'
  const client = [...tsx, join(folder, 'client.ts')]
  const limits = { cwd: work, timeoutMs: config.timeoutMs ?? 30_000, stdout: config.expects?.stdout }
  if (leg.transport === 'stdio') return run([...client, ...(isModern ? [] : ['--legacy'])], limits)
  const port = config.port ?? assigned
  const env = { ...process.env, PORT: String(port), ...config.env }
  const server = start([...tsx, join(folder, 'server.ts'), '--http', '--port', String(port)], { cwd: work, env })
  try {
    if (!(await opens(port))) return `the server did not open port ${port}\n${server.output()}`
    const url = `http://127.0.0.1:${port}${config.path ?? '/mcp'}`
    const problem = await run([...client, '--http', url, ...(isModern ? [] : ['--legacy'])], limits)
    return problem && `${problem}\n--- server ---\n${server.output()}`
  } finally {
    // The next leg uses the same port: it must not reach this server, nor find its port taken.
    server.child.kill('SIGTERM')
    const timer = setTimeout(() => server.child.kill('SIGKILL'), 5_000)
    await server.exited
    clearTimeout(timer)
  }
}

async function run(args, { cwd, timeoutMs, stdout }) {
  const { child, output, exited } = start(args, { cwd, env: process.env })
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
  const code = await exited
  clearTimeout(timer)
  if (code === 0 && (!stdout || output().includes(stdout))) return undefined
  return `${code === null ? 'timed out' : `exit code ${code}`}\n${output()}`
}

function start(args, options) {
  const child = spawn(process.execPath, args, options)
  let output = ''
  child.stdout.on('data', (data) => {
    output += data
  })
  child.stderr.on('data', (data) => {
    output += data
  })
  const exited = new Promise((done) => child.on('close', (code) => done(code)))
  return { child, output: () => output, exited }
}

async function opens(port) {
  for (let attempt = 0; attempt < 100; attempt++) {
    const isOpen = await new Promise((done) => {
      const socket = connect({ port, host: '127.0.0.1' }, () => done(true)).on('error', () => done(false))
      socket.unref()
    })
    if (isOpen) return true
    await new Promise((done) => setTimeout(done, 150))
  }
  return false
}

function lastLines(text, number) {
  return text.trim().split('\n').slice(0, number).join('\n      ')
}
