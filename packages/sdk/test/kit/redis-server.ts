import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Whether `redis-server` is on the path. Without it, tests that need it are skipped. */
export const hasRedis = spawnSync('redis-server', ['--version']).status === 0
if (!hasRedis) console.warn('Tests of the Redis store are skipped: redis-server is not on the PATH.')

export interface RedisServerOptions {
  /** When the append-only log is written to disk. Default: no log. */
  appendfsync?: 'always' | 'everysec' | undefined
  /** Starts a cluster with a single node. Default false. */
  isCluster?: boolean | undefined
}

/** A Redis process with its own directory. */
export class RedisServer {
  readonly port: number
  readonly directory: string
  readonly #options: RedisServerOptions
  #process: ChildProcess | undefined
  #watchdog: ChildProcess | undefined

  private constructor(port: number, directory: string, options: RedisServerOptions) {
    this.port = port
    this.directory = directory
    this.#options = options
  }

  static async start(options: RedisServerOptions = {}): Promise<RedisServer> {
    const directory = await mkdtemp(join(tmpdir(), 'tenon-redis-'))
    const server = new RedisServer(await freePort(), directory, options)
    await server.start()
    return server
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** Starts Redis, or restarts it with the data on disk. */
  async start(): Promise<void> {
    const { appendfsync, isCluster } = this.#options
    const log = appendfsync ? ['--appendonly', 'yes', '--appendfsync', appendfsync] : []
    const cluster = isCluster
      ? ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1', '--cluster-port', `${await freePort()}`]
      : []
    const place = ['--bind', '127.0.0.1', '--port', `${this.port}`, '--dir', this.directory, '--save', '']
    const child = spawn('redis-server', [...place, ...log, ...cluster], { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#process = child
    this.#watchdog = watch(child.pid!, this.directory)
    await untilReady(child)
  }

  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    const child = this.#process
    this.#process = undefined
    this.#watchdog?.kill('SIGKILL')
    this.#watchdog = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    child.kill(signal)
    await once(child, 'exit')
  }

  async close(): Promise<void> {
    await this.kill()
    await rm(this.directory, { recursive: true, force: true })
  }
}

/**
 * Ends Redis and removes its directory when this process exits for any reason, because the pipe to the watchdog then
 * closes. The watchdog has its own process group so that an interrupt from the terminal does not end it first.
 */
function watch(pid: number, directory: string): ChildProcess {
  const script = 'cat >/dev/null; kill -9 "$0"; rm -rf "$1"'
  const watchdog = spawn('sh', ['-c', script, String(pid), directory], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watchdog.unref()
  ;(watchdog.stdin as unknown as { unref(): void }).unref()
  return watchdog
}

function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-4000)
      if (said.includes('Ready to accept connections')) resolve()
    })
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`redis-server ended with ${code}: ${said}`)))
  })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
