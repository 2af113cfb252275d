import { type Client, type ConnectOptions, connect, StdioClientTransport } from 'tenon/client'
import { type OpenFlags, openTarget, type Target } from '../target.ts'

/** Connections to one target, and the ids of the processes that were started for them. */
export class Connections {
  readonly clients: Client[] = []
  readonly pids: number[] = []

  /** Opens a number of connections. Each of a command has its own process. */
  static async open(target: Target, flags: OpenFlags, count: number): Promise<Connections> {
    const connections = new Connections()
    try {
      for (let index = 0; index < count; index++) await connections.#add(target, flags)
    } catch (error) {
      await connections[Symbol.asyncDispose]()
      throw error
    }
    return connections
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.clients.map((client) => client.close()))
  }

  async #add(target: Target, flags: OpenFlags): Promise<void> {
    const { config } = target
    if (!('command' in config)) return void this.clients.push(await openTarget(target, flags))
    const { command, args, env, cwd } = config
    const transport = new StdioClientTransport({ command, args, cwd, ...(env && { env: { ...env } }) })
    this.clients.push(await connect(transport, toOptions(flags)))
    if (transport.pid !== undefined) this.pids.push(transport.pid)
  }
}

function toOptions({ timeout, revision }: OpenFlags): ConnectOptions {
  return {
    ...(revision && { revision }),
    ...(timeout !== undefined && { connectTimeoutMs: timeout, request: { timeoutMs: timeout } }),
  }
}
