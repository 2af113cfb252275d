import { InMemoryTransport } from 'tenon/client'
import { type Exchange, Link, PeerError, type Receiver, type Transport } from 'tenon/jsonrpc'
import { createValidator, toJsonSchema } from 'tenon/server'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'

const methods = { handshake: 'hello', cancelled: 'cancelled', progress: 'progress' }

function receiverWith(request: (exchange: Exchange) => void, others: Partial<Receiver> = {}): Receiver {
  return { methods, request, notification: () => {}, error: () => {}, ...others }
}

async function openPair(server: Receiver, client: Receiver = receiverWith(() => {})): Promise<[Link, Link]> {
  const [one, two] = InMemoryTransport.createLinkedPair()
  const links: [Link, Link] = [new Link(one, client), new Link(two, server)]
  await Promise.all(links.map((link) => link.open()))
  return links
}

describe('a link of tenon/jsonrpc', () => {
  test('sends requests of any protocol and matches their responses', async () => {
    const [client] = await openPair(receiverWith((exchange) => exchange.reply({ echo: exchange.request.params })))
    expect(await client.request('echo', { a: 1 })).toEqual({ echo: { a: 1 } })
    await client.close()
  })

  test('rejects with the error of the peer', async () => {
    const [client] = await openPair(receiverWith((exchange) => exchange.fail({ code: -1, message: 'no', data: 2 })))
    await expect(client.request('echo')).rejects.toMatchObject(new PeerError(-1, 'no', 2))
    await client.close()
  })

  test('finds a request in progress by its id', async () => {
    const waiting: Exchange[] = []
    const [client, server] = await openPair(receiverWith((exchange) => waiting.push(exchange)))
    const answer = client.request('wait')
    await expect.poll(() => waiting.length).toBe(1)
    const [exchange] = waiting
    expect(server.exchange(exchange!.request.id)).toBe(exchange)
    exchange!.reply({})
    await answer
    expect(server.exchange(exchange!.request.id)).toBeUndefined()
    await client.close()
  })

  test('describes why a request was cancelled', async () => {
    const reasons: unknown[] = []
    const [client] = await openPair(
      receiverWith(() => {}, { notification: ({ params }) => void reasons.push(params?.reason) }),
    )
    const cancel = new AbortController()
    const answer = client.request(
      'wait',
      {},
      { signal: cancel.signal, describeReason: (reason) => `because ${reason}` },
    )
    cancel.abort('of rain')
    await expect(answer).rejects.toMatchObject({ code: 'cancelled' })
    await expect.poll(() => reasons).toEqual(['because of rain'])
    await client.close()
  })

  test('sends objects on streams that take them', async () => {
    const sent: unknown[] = []
    const transport: Transport = { start: async () => {}, send: () => {}, close: async () => {} }
    const link = new Link(
      transport,
      receiverWith((exchange) => {
        exchange.notify('progress', { progressToken: 1, progress: 1 })
        exchange.reply({ done: true })
      }),
    )
    await link.open()
    const stream = { sendMessage: (message: unknown) => sent.push(message) > 0, sendText: () => true, end: () => {} }
    transport.onmessage!({ jsonrpc: '2.0', id: 1, method: 'work' }, stream)
    expect(sent).toMatchObject([{ method: 'progress' }, { id: 1, result: { done: true } }])
  })
})

describe('schemas of a program', () => {
  const shape = { name: z.string(), age: z.number().optional() }

  test('are converted to JSON Schema', () => {
    expect(toJsonSchema(shape, 'input')).toEqual({
      type: 'object',
      properties: { name: { type: 'string' }, age: { type: 'number' } },
      required: ['name'],
    })
  })

  test('check values', async () => {
    const validate = createValidator(shape)
    expect(await validate({ name: 'Ada', more: 1 })).toEqual({ value: { name: 'Ada' } })
    expect((await validate({ name: 1 })).issues?.[0]?.path).toEqual(['name'])
  })
})
