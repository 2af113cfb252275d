import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../../../../packages/cli/dist/main.js', import.meta.url))

/** The path of a server of the tests. */
export function serverFile(name) {
  return fileURLToPath(new URL(`${name}.js`, import.meta.url))
}

/** The command line of a server of the tests. */
export function serverCommand(name) {
  return `${process.execPath} ${serverFile(name)}`
}

/** Runs `tenon inspect` until the test ends. Returns the address of the page. */
export async function startInspector(t, target = [], { options = [], cwd } = {}) {
  const words = [main, 'inspect', ...options, ...(target.length === 0 ? [] : ['--', ...target])]
  const child = start(t, words, cwd)
  return firstLine(child)
}

/** Runs a server of the tests over HTTP until the test ends. Returns its address. */
export async function startHttpServer(t, name) {
  return firstLine(start(t, [serverFile(name), '--http']))
}

function start(t, words, cwd = undefined) {
  const endsWithParent = new URL('ends-with-parent.js', import.meta.url).href
  const stdio = ['pipe', 'pipe', 'ignore']
  const child = spawn(process.execPath, ['--import', endsWithParent, ...words], { stdio, cwd })
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), 5_000)
    await exited
    clearTimeout(timer)
  })
  return child
}

async function firstLine(child) {
  const lines = createInterface({ input: child.stdout })
  const failed = once(child, 'exit').then(([code]) => Promise.reject(new Error(`The process ended with ${code}`)))
  failed.catch(() => {})
  const [line] = await Promise.race([once(lines, 'line'), failed])
  return line
}
