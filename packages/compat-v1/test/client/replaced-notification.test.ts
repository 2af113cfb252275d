import { InMemoryTransport } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { expect, it } from 'vitest'
import { Client } from '../../src/client/index.ts'
import type { Transport } from '../../src/shared/transport.ts'

async function connectTo(client: Client, onInitialized: () => void): Promise<void> {
  const server = new McpServer({ name: 'demo', version: '1.0.0' }, { onInitialized })
  server.registerTool('hi', {}, () => 'hi')
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await server.connect(theirs)
  await client.connect(ours as unknown as Transport)
}

it('sends notifications/initialized through a notification method that the program replaced', async () => {
  const client = new Client({ name: 'proxy', version: '1.0.0' })
  const original = client.notification
  const seen: unknown[] = []
  client.notification = async function (this: Client, notification: { method: string }, ...rest: unknown[]) {
    seen.push([notification.method, client.getServerVersion()?.name])
    return Reflect.apply(original, this, [notification, ...rest])
  } as never
  let initialized = 0
  await connectTo(client, () => initialized++)
  expect(seen).toEqual([['notifications/initialized', 'demo']])
  await expect.poll(() => initialized).toBe(1)
  expect((await client.callTool({ name: 'hi' })).content).toEqual([{ type: 'text', text: 'hi' }])
  await client.close()
})

it('leaves notifications/initialized to a subclass that does not send it', async () => {
  class Silent extends Client {
    override async notification(): Promise<void> {}
  }
  const client = new Silent({ name: 'proxy', version: '1.0.0' })
  let initialized = 0
  await connectTo(client, () => initialized++)
  await client.ping()
  expect(initialized).toBe(0)
  await client.close()
})

it('closes the connection if notifications/initialized cannot be sent', async () => {
  const client = new Client({ name: 'proxy', version: '1.0.0' })
  client.notification = async () => {
    throw new Error('Not today')
  }
  let closed = 0
  client.onclose = () => closed++
  await expect(connectTo(client, () => {})).rejects.toThrow('Not today')
  await expect.poll(() => closed).toBe(1)
})
