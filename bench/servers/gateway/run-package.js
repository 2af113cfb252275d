import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { obey } from '../http/stand.js'

/**
 * Runs the command of a package in this process, so that the CPU time of the process is that of the gateway.
 *
 * @param program The path of the program, relative to node_modules.
 * @param toArgs Returns its arguments for a free port.
 */
export async function runPackage(program, toArgs) {
  // Stdout is for the benchmark.
  console.info = console.log = console.error
  await obey(start(program, toArgs))
}

async function start(program, toArgs) {
  const port = await freePort()
  process.argv.splice(2, Infinity, ...toArgs(port))
  await import(new URL(`../../node_modules/${program}`, import.meta.url))
  await listening(port)
  return `http://127.0.0.1:${port}/mcp`
}

/** These programs cannot choose a port themselves and tell which. */
async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

async function listening(port) {
  for (;;) {
    const socket = connect({ port, host: '127.0.0.1' })
    try {
      await once(socket, 'connect')
      return
    } catch {
      await sleep(20)
    } finally {
      socket.destroy()
    }
  }
}
