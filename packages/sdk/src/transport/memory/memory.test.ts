import { describe, expect, it } from 'vitest'
import type { Fault } from '../../jsonrpc/message.ts'
import { InMemoryTransport } from './memory.ts'

const log = (data: number) => ({ jsonrpc: '2.0' as const, method: 'notifications/message', params: { data } })

/** A pair whose second side notes what happens. */
function pair() {
  const [one, two] = InMemoryTransport.createLinkedPair()
  const seen = { messages: [] as unknown[], faults: [] as Fault[], closes: [] as string[] }
  two.onmessage = (message) => void seen.messages.push(message)
  two.onfault = (fault) => void seen.faults.push(fault)
  two.onclose = () => void seen.closes.push('two')
  one.onclose = () => void seen.closes.push('one')
  return { one, two, ...seen }
}

describe('InMemoryTransport', () => {
  it('keeps messages until the other side is started, and delivers copies in order', async () => {
    const { one, two, messages } = pair()
    const first = log(1)
    one.send(first)
    one.send([log(2)])
    await Promise.resolve()
    expect(messages).toEqual([])
    first.params.data = 7
    await two.start()
    one.send(log(3))
    expect(messages).toEqual([log(1), [log(2)]])
    await Promise.resolve()
    expect(messages).toEqual([log(1), [log(2)], log(3)])
  })

  it('reports text that is not JSON as a fault', async () => {
    const { one, two, messages, faults } = pair()
    await two.start()
    one.sendText('no JSON')
    await Promise.resolve()
    expect([messages, faults.map(({ code }) => code)]).toEqual([[], [-32700]])
  })

  it('closes both sides once, after the messages that were sent before', async () => {
    const { one, two, messages, closes } = pair()
    await two.start()
    one.send(log(1))
    const closing = one.close()
    expect(() => one.send(log(2))).toThrow('The in-memory transport is closed')
    await Promise.all([closing, one.close()])
    await two.close()
    expect([messages, closes]).toEqual([[log(1)], ['one', 'two']])
    expect(() => two.send(log(3))).toThrow('The in-memory transport is closed')
    expect(() => new InMemoryTransport().send(log(4))).toThrow('The in-memory transport is closed')
  })

  it('has the user of its token as its principal', () => {
    const { one } = pair()
    expect(one.principal).toBeUndefined()
    one.auth = { subject: 'alice', scopes: [] } as never
    expect(one.principal).toContain('alice')
  })
})
