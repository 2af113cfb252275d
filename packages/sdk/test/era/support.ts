import { Client, type ClientOptions, type StateChange, type Transport } from 'tenon/client'
import { McpServer, type McpServerOptions } from 'tenon/server'
import { InMemoryTransport } from 'tenon/testing'
import * as z from 'zod'
import { gate } from '../kit/gate.ts'

/** Creates a server with tools that return the caller, echo, or wait for `release` or cancellation. */
export function testServer(options: McpServerOptions = {}) {
  const server = new McpServer({ name: 'test-server', version: '3.2.1' }, options)
  const started = gate()
  const release = gate()
  const seen: { signal?: AbortSignal } = {}
  server.registerTool('echo', { inputSchema: { text: z.string() } }, ({ text }) => text)
  server.registerTool('who', {}, (_, { caller }) =>
    JSON.stringify({ revision: caller.revision, client: caller.clientInfo, capabilities: caller.capabilities }),
  )
  server.registerTool('wait', {}, async (_, ctx) => {
    seen.signal = ctx.signal
    started.open()
    await Promise.race([release.opened, new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))])
    return 'waited'
  })
  return { server, started: started.opened, release: () => release.open(), seen }
}

export async function connected(server: McpServer, options: ClientOptions = {}): Promise<Client> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await server.connect(theirs)
  const client = new Client({ name: 'test', version: '1.0.0' }, options)
  await client.connect(ours)
  return client
}

export async function inMemory(server: McpServer): Promise<Transport> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await server.connect(theirs)
  return ours
}

/** Records every state change in order, and waits for one. */
export function watchStates(client: Client) {
  const changes: StateChange[] = []
  const waiting = new Set<() => void>()
  client.on('state', (change) => {
    changes.push(change)
    for (const look of waiting) look()
  })
  const reached = (state: StateChange['state'], nth = 1): Promise<StateChange> =>
    new Promise((resolve) => {
      const look = () => {
        const found = changes.filter((change) => change.state === state)[nth - 1]
        if (found) resolve(found)
      }
      waiting.add(look)
      look()
    })
  return { changes, reached }
}

/** Returns every non-empty subset of a list. */
export function subsets<T>(items: readonly T[]): T[][] {
  const sets: T[][] = [[]]
  for (const item of items) for (const set of [...sets]) sets.push([...set, item])
  return sets.slice(1)
}
