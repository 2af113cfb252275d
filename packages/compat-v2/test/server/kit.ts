import { InMemoryTransport } from '../../src/core/in-memory.ts'
import type { Transport } from '../../src/core/transport.ts'
import type { JSONRPCMessage } from '../../src/core/types.ts'

/** The `_meta` of a request of 2026-07-28. */
export const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'tester', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
}

type Received = Record<string, unknown> & { id?: unknown; method?: string; result?: never; error?: never }

/** A client that sends whole messages and reads whole messages. */
export class RawClient {
  readonly received: Received[] = []
  readonly #transport: Transport
  #waiting: (() => void)[] = []

  constructor(transport: Transport) {
    this.#transport = transport
    transport.onmessage = (message) => {
      this.received.push(message as unknown as Received)
      for (const wake of this.#waiting.splice(0)) wake()
    }
  }

  /** Connects to a server in this process. */
  static async connectTo(server: { connect(transport: Transport): Promise<void> }): Promise<RawClient> {
    const [own, theirs] = InMemoryTransport.createLinkedPair()
    await server.connect(theirs)
    const client = new RawClient(own)
    await own.start()
    return client
  }

  async send(message: object): Promise<void> {
    await this.#transport.send({ jsonrpc: '2.0', ...message } as JSONRPCMessage)
  }

  /** Sends a request and resolves with its response. */
  async request(id: number, method: string, params?: object): Promise<Received> {
    await this.send({ id, method, ...(params && { params }) })
    return this.find((message) => message.id === id && message.method === undefined)
  }

  /** Resolves with the first message that matches. */
  async find(matches: (message: Received) => boolean): Promise<Received> {
    for (;;) {
      const found = this.received.find(matches)
      if (found) return found
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  initialize(capabilities: object = {}): Promise<Received> {
    const clientInfo = { name: 'tester', version: '1.0.0' }
    return this.request(0, 'initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo })
  }
}
