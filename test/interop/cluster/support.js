import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'

// Kills all started processes on 'exit', however the test ends.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.once(signal, () => process.exit(1))

const nodeFile = new URL('./node.js', import.meta.url).pathname

/** Polls until the condition holds, and returns whether it did in time. */
export async function eventually(condition, deadlineMs = 30_000) {
  const until = Date.now() + deadlineMs
  for (;;) {
    if (await condition()) return true
    if (Date.now() > until) return false
    await sleep(25)
  }
}

/** Server processes that share one Redis. */
export class Cluster {
  nodes = []
  redis
  counters
  #options

  static async start({ size = 4, options = {}, clocksMs = [] } = {}) {
    const cluster = new Cluster()
    cluster.#options = options
    cluster.redis = await startRedis()
    cluster.counters = new Redis(cluster.redis.url)
    cluster.counters.on('error', () => {})
    cluster.nodes = await Promise.all(Array.from({ length: size }, (_, at) => cluster.#startNode(0, clocksMs[at])))
    return cluster
  }

  /** Restarts the node on the same port. */
  async restart(node) {
    Object.assign(node, await this.#startNode(node.port))
  }

  async stop(node, signal) {
    const exited = once(node.child, 'exit')
    node.child.kill(signal)
    await exited
  }

  /** Returns the number of event streams that clients have open. */
  async streams(nodes = this.nodes) {
    const counts = await Promise.all(
      nodes.map(async ({ child }) => {
        if (child.exitCode !== null || child.signalCode !== null) return 0
        child.send('streams')
        for (;;) {
          const [message] = await once(child, 'message')
          if (message.streams !== undefined) return message.streams
        }
      }),
    )
    return counts.reduce((sum, count) => sum + count, 0)
  }

  /** Returns how often each of the calls ran. */
  async runs(ids) {
    if (ids.length === 0) return []
    return (await this.counters.mget(ids.map((id) => `ran:${id}`))).map((count) => Number(count ?? 0))
  }

  async close() {
    await Promise.all(
      this.nodes.map(async ({ child }) => {
        if (child.exitCode !== null || child.signalCode !== null) return
        const exited = once(child, 'exit')
        child.kill('SIGKILL')
        await exited
      }),
    )
    this.counters.disconnect()
    await this.redis.close()
  }

  async #startNode(port, clockMs = 0) {
    const args = JSON.stringify({ port, redisUrl: this.redis.url, options: this.#options, clockMs })
    const child = fork(nodeFile, [args], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    const kill = () => child.kill('SIGKILL')
    process.once('exit', kill)
    child.once('exit', () => process.off('exit', kill))
    const [message] = await once(child, 'message')
    return { port: message.port, child }
  }
}

/** Calls tools continuously on every client until it is stopped, and records the outcome of each call. */
export class Load {
  done = []
  failed = new Map()
  wrong = []
  #isOver = false
  #workers

  constructor(name, peers, tools, pauseMs = 10) {
    this.#workers = peers.map(async (peer, index) => {
      for (let at = 0; !this.#isOver; at++) {
        await this.#call(peer, tools[at % tools.length], `${name}-${peer.name}-${index}-${at}`)
        await sleep(Math.random() * pauseMs)
      }
    })
  }

  get calls() {
    return this.done.length + this.failed.size + this.wrong.length
  }

  async stop() {
    this.#isOver = true
    await Promise.all(this.#workers)
  }

  async #call(peer, tool, id) {
    try {
      const { content } = await peer.call(tool, { id })
      if (content[0].text === `did ${id}`) this.done.push(id)
      else this.wrong.push(`${id}: ${content[0].text}`)
    } catch (error) {
      this.failed.set(id, error)
    }
  }
}

export async function startRedis() {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-cluster-'))
  const port = await freePort()
  let child
  const start = async () => {
    const place = ['--bind', '127.0.0.1', '--port', `${port}`, '--dir', directory, '--save', '', '--appendonly', 'yes']
    child = spawn('redis-server', place, { stdio: ['ignore', 'pipe', 'inherit'] })
    const started = child
    const kill = () => started.kill('SIGKILL')
    process.once('exit', kill)
    child.once('exit', () => process.off('exit', kill))
    let said = ''
    for await (const chunk of child.stdout) {
      said += chunk
      if (said.includes('Ready to accept connections')) break
    }
  }
  const kill = async () => {
    if (!child) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
    child = undefined
  }
  await start()
  return {
    url: `redis://127.0.0.1:${port}`,
    start,
    kill,
    close: async () => {
      await kill()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}
