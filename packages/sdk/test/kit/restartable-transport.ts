import type { ClientTransport, Transport } from 'tenon/client'

/** A transport that can be restarted: each start opens a new connection, like starting a child process. */
export class RestartableTransport implements Transport {
  onmessage?: Transport['onmessage']
  onclose?: Transport['onclose']
  readonly restartable = true
  readonly peerKey: string | undefined
  starts = 0
  #inner: ClientTransport | undefined
  readonly #make: (start: number) => Transport | Promise<Transport>

  constructor(make: (start: number) => Transport | Promise<Transport>, peerKey?: string) {
    this.#make = make
    this.peerKey = peerKey
  }

  async start(): Promise<void> {
    this.starts++
    const inner = await this.#make(this.starts)
    this.#inner = inner
    inner.onmessage = (message) => this.onmessage?.(message)
    inner.onclose = (detail) => {
      if (this.#inner === inner) this.#inner = undefined
      this.onclose?.(detail)
    }
    await inner.start()
  }

  send(message: Parameters<Transport['send']>[0]): void {
    const inner = this.#inner
    if (!inner) throw new Error('not started')
    if (inner.sendText) inner.sendText(JSON.stringify(message))
    else void inner.send(message)
  }

  async close(): Promise<void> {
    await this.#inner?.close()
  }
}
