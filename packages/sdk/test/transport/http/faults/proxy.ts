import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/**
 * Forwards bytes between a client and a server, and cuts connections after a configured number of response bytes.
 * Everything after that point is lost, as on a real network.
 */
export class CuttingProxy {
  readonly port: number
  /** Number of response bytes after which the next connection is cut; undefined: never. */
  cutAfter: number | undefined
  /** Leaves the server side open and unread, as when a network fails: the server does not notice the cut. */
  silently = false
  cuts = 0
  readonly #sockets = new Set<Socket>()

  private constructor(port: number) {
    this.port = port
  }

  static async open(target: number): Promise<CuttingProxy> {
    const server = createServer((client) => proxy.#carry(client, target))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const proxy = new CuttingProxy((server.address() as AddressInfo).port)
    onTestFinished(async () => {
      for (const socket of proxy.#sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    })
    return proxy
  }

  #carry(client: Socket, target: number): void {
    const server = connect({ port: target, host: '127.0.0.1', noDelay: true })
    const { cutAfter, silently } = this
    let left = cutAfter ?? Number.POSITIVE_INFINITY
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => this.#sockets.delete(socket))
    }
    client.pipe(server)
    client.on('close', () => {
      if (left > 0) server.destroy()
    })
    server.on('end', () => client.end())
    server.on('data', (chunk: Buffer) => {
      if (left <= 0) return
      client.write(chunk.subarray(0, left))
      left -= chunk.length
      if (left > 0) return
      this.cuts++
      // Bytes that were already written still arrive; nothing else does.
      client.destroySoon()
      if (silently) server.pause()
      else server.destroy()
    })
  }
}
