import { spawn } from 'node:child_process'

const running = new Set()

/** Starts a program in its own process group, so that its child processes can be killed with it. */
export function start(command, args, options) {
  const child = spawn(command, args, { ...options, detached: process.platform !== 'win32' })
  running.add(child)
  child.once('error', () => running.delete(child))
  // The group outlives its leader when the suite gave up on a client that hangs.
  child.once('exit', () => end(child))
  return child
}

/**
 * Runs a program to its end and returns its exit code and its output.
 *
 * @param onText Called with all output so far, whenever there is more.
 */
export function finish(command, args, options, onText = () => {}) {
  return new Promise((resolve, reject) => {
    const child = start(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text
        onText(output)
      })
    }
    child.once('error', reject)
    child.once('close', (exitCode) => resolve({ exitCode, output }))
  })
}

export function end(child) {
  running.delete(child)
  if (child.pid === undefined) return
  try {
    if (process.platform === 'win32') child.kill()
    else process.kill(-child.pid, 'SIGKILL')
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}

process.once('exit', () => {
  for (const child of running) end(child)
})
process.once('SIGINT', () => process.exit(130))
process.once('SIGTERM', () => process.exit(143))
