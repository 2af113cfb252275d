import { Server } from 'tenon/server'
import { wires } from 'tenon/testing'
import { describe, expect, it } from 'vitest'

/** A server whose tools have no schema. */
function careless(): Server {
  const server = new Server({ name: 'careless', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', () => ({ tools: [{ name: 'bare' }] }) as never)
  return server
}

describe('messages on a wire', () => {
  it('are checked against the schema of the revision, without a folder', async () => {
    for (const wire of wires({ transports: ['memory'] })) {
      const pair = await wire.connect(careless())
      await pair.client.request('tools/list').catch(() => {})
      const text = `Messages violate the schema of ${wire.revision.id}`
      await expect(pair[Symbol.asyncDispose]()).rejects.toThrow(text)
    }
  })

  it('are not checked with schemas: false, nor with a folder that has no schema of the revision', async () => {
    for (const schemas of [false, import.meta.dirname] as const) {
      const [wire] = wires({ transports: ['memory'], schemas })
      const pair = await wire!.connect(careless())
      await pair.client.request('tools/list').catch(() => {})
      await pair[Symbol.asyncDispose]()
    }
  })
})
