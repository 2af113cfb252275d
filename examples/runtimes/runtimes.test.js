import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { connect as connectSocket, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { build } from 'esbuild'
import { Miniflare } from 'miniflare'
import { testExample } from '../support/checks.js'

// The examples in the real runtimes: Cloudflare's workerd, Bun, Deno and Next.js.

const here = new URL('.', import.meta.url).pathname
const bin = (name) => join(here, 'node_modules/.bin', name)

testExample('fetch.js in a Cloudflare Worker', 'fetch-example', startWorker)

testExample('fetch.js on Bun', 'fetch-example', () =>
  startProgram((port) => [bin('bun'), '--hostname=127.0.0.1', `--port=${port}`, 'fetch.js']),
)

testExample('fetch.js on Deno', 'fetch-example', () =>
  startProgram((port) => [bin('deno'), 'serve', '--no-prompt', '--host=127.0.0.1', `--port=${port}`, 'fetch.js']),
)

testExample('Next.js', 'next-example', () => {
  run(bin('next'), 'build', 'next')
  return startProgram((port) => [bin('next'), 'start', 'next', '--hostname=127.0.0.1', `--port=${port}`])
})

/** Bundles the Worker as `wrangler deploy` does, and runs it in workerd. */
async function startWorker() {
  const conditions = ['workerd', 'worker', 'browser']
  const input = { entryPoints: [join(here, 'fetch.js')], bundle: true, format: 'esm', conditions, write: false }
  const { outputFiles, warnings } = await build({ ...input, platform: 'browser', logLevel: 'silent' })
  if (warnings.length > 0) throw new Error(`Bundling the Worker gave warnings: ${JSON.stringify(warnings)}`)
  const worker = new Miniflare({ modules: true, script: outputFiles[0].text, compatibilityDate: '2026-04-01', port: 0 })
  const { origin } = await worker.ready
  return { origin, stop: () => worker.dispose() }
}

async function startProgram(commandFor) {
  const port = await freePort()
  const [command, ...args] = commandFor(port)
  const child = spawn(command, args, { cwd: here, env: environment(), stdio: ['ignore', 'pipe', 'pipe'] })
  process.once('exit', () => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const exited = once(child, 'exit')
  while (!(await accepts(port))) {
    if (child.exitCode !== null) throw new Error(`${command} exited with ${child.exitCode}:\n${output}`)
    await delay(50)
  }
  const stop = async () => {
    child.kill('SIGKILL')
    await exited
  }
  return { origin: `http://127.0.0.1:${port}`, stop }
}

function run(command, ...args) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: here, env: environment(), encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`)
}

function environment() {
  return { ...process.env, NEXT_TELEMETRY_DISABLED: '1', DENO_NO_UPDATE_CHECK: '1' }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

async function accepts(port) {
  const socket = connectSocket(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
