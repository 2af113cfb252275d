import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const everything = '@modelcontextprotocol/server-everything/dist/index.js'

/** Returns the path of a program below a `node_modules`. */
export const pathOf = {
  everything: (modules) => join(modules, everything),
  supergateway: (modules) => join(modules, 'supergateway/dist/index.js'),
  mcpProxy: (modules) => join(modules, 'mcp-proxy/dist/bin/mcp-proxy.mjs'),
}

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

/** Starts a program that listens on a port, waits until it accepts connections, and stops it after `use`. */
export async function whileListening(command, port, env, use) {
  const program = await startListening(command, port, env)
  try {
    return await use(`http://localhost:${port}`)
  } finally {
    await program.stop()
  }
}

async function startListening(command, port, env) {
  const child = spawn(process.execPath, command, {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      output += text
    })
  }
  for (let tries = 0; !(await isListening(port)); tries++) {
    if (child.exitCode !== null || tries > 600)
      throw new Error(`${command[0]} does not listen: ${output.slice(0, 2_000)}`)
    await delay(50)
  }
  return {
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
  }
}

async function isListening(port) {
  for (const host of ['127.0.0.1', '::1']) {
    try {
      await fetch(`http://${host.includes(':') ? `[${host}]` : host}:${port}/no-such-path`, {
        signal: AbortSignal.timeout(5_000),
      })
      return true
    } catch {
      // Not yet, or the other family.
    }
  }
  return false
}
