import { inputRequired, type UsedStates } from 'tenon/server'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { anything, bank, expectRefused, yes } from './attacks-support.ts'
import { everyRaw, type RawPeer, serverOf, stateOf, textOf, ways, withAnswers } from './round-trips-support.ts'

afterEach(() => {
  vi.useRealTimers()
})

describe('the requestState of a call', () => {
  everyRaw('reveals nothing to the client and differs each time [MRTR-019, MRTR-020]', async (open) => {
    const { server } = bank()
    server.registerTool('hand', {}, () => inputRequired({ requestState: { secret: 'secret-of-the-author' } }))
    await using peer = await open(server)
    for (const name of ['pay', 'hand']) {
      const states = [stateOf(await peer.call(name)), stateOf(await peer.call(name))]
      expect(states[0]).not.toBe(states[1])
      for (const state of states) {
        const text = state + Buffer.from(state, 'base64url').toString('latin1')
        expect(text).not.toMatch(/secret|account|sure|name/)
      }
    }
  })

  it('is rejected for another user and for an anonymous caller [MRTR-019, MRTR-021, SEC-011, SEC-012]', async () => {
    const { server, paid } = bank()
    const serving = { principal: (request: { header(name: string): string | undefined }) => request.header('x-user') }
    await using ann = await ways.http(server, { headers: { 'x-user': 'ann' }, serving })
    await using bob = await ways.http(server, { headers: { 'x-user': 'bob' }, serving })
    await using nobody = await ways.http(server, { serving })
    await using memory = await ways.memory(server)
    const first = await ann.call('pay', { to: 'x' })
    for (const thief of [bob, nobody, memory]) {
      expectRefused(await thief.call('pay', { to: 'x' }, withAnswers(first, yes)))
    }
    const open = await nobody.call('pay', { to: 'x' })
    expectRefused(await ann.call('pay', { to: 'x' }, withAnswers(open, yes)))
    expect(paid).toEqual([])
    expect(textOf(await ann.call('pay', { to: 'x' }, withAnswers(first, yes)))).toBe('pay: accept')
  })

  everyRaw('is rejected for another tool, prompt or method [MRTR-019, MRTR-021]', async (open) => {
    const { server, paid } = bank()
    await using peer = await open(server)
    const first = await peer.call('pay', {})
    expectRefused(await peer.call('refund', {}, withAnswers(first, yes)))
    expectRefused(await peer.request('prompts/get', { name: 'pay', arguments: {}, ...withAnswers(first, yes) }))
    const prompt = await peer.request('prompts/get', { name: 'pay' })
    expectRefused(await peer.request('tools/call', { name: 'pay', ...withAnswers(prompt, yes) }))
    expect(paid).toEqual([])
  })

  everyRaw('is rejected for other arguments, even similar ones [MRTR-019, MRTR-021]', async (open) => {
    const { server, paid } = bank()
    await using peer = await open(server)
    const alike: [string, string][] = [
      ['{"to":"a","amount":1}', '{"to":"a","amount":100}'],
      ['{"to":"a","amount":1}', '{"to":"a"}'],
      ['{"to":"a"}', '{"to":"a","amount":1}'],
      ['{"amount":1}', '{"amount":"1"}'],
      ['{"amount":0}', '{"amount":false}'],
      ['{"amount":0}', '{"amount":null}'],
      ['{"list":[1,2]}', '{"list":[2,1]}'],
      ['{"list":[[1],[2]]}', '{"list":[[1,2]]}'],
      ['{"list":[]}', '{"list":{}}'],
      ['{"rule":{"limit":1}}', '{"rule":[["limit",1]]}'],
      ['{"rule":[["limit",1]]}', '{"rule":{"limit":1}}'],
      ['{"a":{"b":1},"c":2}', '{"a":{"b":1,"c":2}}'],
      ['{"a":1}', '{"A":1}'],
      ['{"a":1}', '{"__proto__":{"a":1}}'],
      ['{"a":"é"}', '{"a":"e\u0301"}'],
      ['{}', '{"__proto__":null}'],
    ]
    for (const [given, sent] of alike) {
      const first = await peer.call('pay', JSON.parse(given))
      expectRefused(await peer.call('pay', JSON.parse(sent), withAnswers(first, yes)), `${given} -> ${sent}`)
    }
    expect(paid).toEqual([])
    // Adding or removing other params is rejected too.
    const first = await peer.call('pay', {})
    expectRefused(await peer.call('pay', {}, { ...withAnswers(first, yes), task: { ttl: 1 } }))
    expectRefused(await peer.request('tools/call', { name: 'pay', ...withAnswers(first, yes) }))
  })

  everyRaw('is accepted for the same arguments in another order', async (open) => {
    const { server, paid } = bank()
    await using peer = await open(server)
    const first = await peer.call('pay', { to: 'a', rule: { from: 1, until: 2 }, list: [{ x: 1, y: 2 }] })
    const reordered = { list: [{ y: 2, x: 1 }], rule: { until: 2, from: 1 }, to: 'a' }
    const last = await peer.call('pay', reordered, withAnswers(first, yes))
    expect(textOf(last)).toBe('pay: accept')
    expect(paid).toHaveLength(1)
  })

  everyRaw('is rejected by a server with another name, and accepted by one with the same [MRTR-019]', async (open) => {
    const stateKey = 'one key for all, of enough characters'
    const [bankOne, bankTwo, shop] = [bank({ stateKey }), bank({ stateKey }), bank({ stateKey }, 'shop')]
    await using one = await open(bankOne.server)
    await using two = await open(bankTwo.server)
    await using other = await open(shop.server)
    const first = await one.call('pay', {})
    expectRefused(await other.call('pay', {}, withAnswers(first, yes)))
    expect(textOf(await two.call('pay', {}, withAnswers(first, yes)))).toBe('pay: accept')
  })

  everyRaw('is rejected by a server with another key, also when the keys are random [MRTR-019]', async (open) => {
    await using one = await open(bank().server)
    await using two = await open(bank().server)
    const first = await one.call('pay', {})
    expectRefused(await two.call('pay', {}, withAnswers(first, yes)))
  })

  everyRaw('survives a key rotation while the server still has the old key [MRTR-019]', async (open) => {
    const old = bank({ stateKey: 'old '.repeat(8) })
    const both = bank({ stateKeys: ['new '.repeat(8), 'old '.repeat(8)] })
    const fresh = bank({ stateKeys: [new TextEncoder().encode('new '.repeat(8))] })
    await using before = await open(old.server)
    await using during = await open(both.server)
    await using after = await open(fresh.server)
    const first = await before.call('pay', {})
    expectRefused(await after.call('pay', {}, withAnswers(first, yes)))
    // The server with both keys seals the next state with the new key.
    const second = await during.call('pay', {}, withAnswers(first, {}))
    expectRefused(await before.call('pay', {}, withAnswers(second, yes)))
    expect(textOf(await after.call('pay', {}, withAnswers(second, yes)))).toBe('pay: accept')
    expect(textOf(await during.call('pay', {}, withAnswers(first, yes)))).toBe('pay: accept')
  })

  everyRaw('is rejected after it expires, and each round trip extends it [MRTR-021]', async (open) => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 })
    const { server, paid } = bank({ questions: { stateTtlMs: 5_000 } })
    await using peer = await open(server)
    const first = await peer.call('pay', {})
    vi.setSystemTime(1_004_999)
    const second = await peer.call('pay', {}, withAnswers(first, {}))
    vi.setSystemTime(1_005_000)
    expectRefused(await peer.call('pay', {}, withAnswers(first, yes)))
    expect(paid).toEqual([])
    vi.setSystemTime(1_009_998)
    expect(textOf(await peer.call('pay', {}, withAnswers(second, yes)))).toBe('pay: accept')
    vi.setSystemTime(1_009_999)
    expectRefused(await peer.call('pay', {}, withAnswers(second, yes)))
  })

  everyRaw('is rejected when it is truncated or extended [MRTR-018, MRTR-019]', async (open) => {
    const { server, paid } = bank()
    await using peer = await open(server)
    const requestState = stateOf(await peer.call('pay', {}))
    const { length } = requestState
    const cut = Array.from({ length }, (_, end) => requestState.slice(0, end))
    const others = [
      ...Array.from({ length: 40 }, (_, start) => requestState.slice(start + 1)),
      `${requestState}A`,
      `${requestState}=`,
      `${requestState} `,
      ` ${requestState}`,
      `${requestState}\n`,
      requestState + requestState,
      'undefined',
      '{}',
      '{"round":1,"once":[],"answers":{},"asked":{"sure":"x"}}',
      Buffer.from('{"journal":{"round":1,"once":[],"answers":{},"asked":{}}}').toString('base64url'),
      '\ud800',
      'A'.repeat(1_000_000),
    ]
    for (const state of [...cut, ...others]) {
      const answer = await peer.call('pay', {}, { requestState: state, inputResponses: yes })
      expectRefused(answer, JSON.stringify(state.slice(0, 200)))
    }
    expect(paid).toEqual([])
  })

  it('is rejected when one bit is flipped, at every byte [MRTR-018, MRTR-019]', async () => {
    const { server, paid } = bank()
    await using peer = await ways.memory(server)
    const requestState = stateOf(await peer.call('pay', {}))
    const bytes = Buffer.from(requestState, 'base64url')
    expect(bytes.toString('base64url')).toBe(requestState)
    for (let at = 0; at < bytes.length; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const flipped = Buffer.from(bytes)
        flipped[at] = flipped[at]! ^ (1 << bit)
        await expectStateRefused(peer, flipped.toString('base64url'), `byte ${at} bit ${bit}`)
      }
    }
    expect(paid).toEqual([])
    expect(textOf(await peer.call('pay', {}, { requestState, inputResponses: yes }))).toBe('pay: accept')
  })

  it('is rejected when one bit of its text is flipped, at every character [MRTR-018, MRTR-019]', async () => {
    await using peer = await ways.memory(bank().server)
    // States of every length modulo 3: in two of them the last character has unused bits.
    for (const text of ['', 'a', 'aa']) {
      const padded = { text }
      const requestState = stateOf(await peer.call('pay', padded))
      for (let at = 0; at < requestState.length; at++) {
        for (let bit = 0; bit < 7; bit++) {
          const character = String.fromCharCode(requestState.charCodeAt(at) ^ (1 << bit))
          const flipped = requestState.slice(0, at) + character + requestState.slice(at + 1)
          const answer = await peer.call('pay', padded, { requestState: flipped, inputResponses: yes })
          expectRefused(answer, `character ${at} of ${requestState.length} bit ${bit}`)
        }
      }
    }
  })

  it('is rejected over HTTP when one bit is flipped [MRTR-018, MRTR-019]', async () => {
    await using peer = await ways.http(bank().server)
    const bytes = Buffer.from(stateOf(await peer.call('pay', {})), 'base64url')
    for (let at = 0; at < bytes.length; at += 7) {
      const flipped = Buffer.from(bytes)
      flipped[at] = flipped[at]! ^ 1
      await expectStateRefused(peer, flipped.toString('base64url'), `byte ${at}`)
    }
  })

  everyRaw('can be reused until it expires with singleUse: false [MRTR-022]', async (open) => {
    const { server, paid } = bank({ questions: { singleUse: false } })
    await using peer = await open(server)
    const first = await peer.call('pay', {})
    for (const _ of [1, 2]) expect(textOf(await peer.call('pay', {}, withAnswers(first, yes)))).toBe('pay: accept')
    expect(paid).toHaveLength(2)
  })

  everyRaw('can be used once with singleUse, whatever is sent with it [MRTR-022]', async (open) => {
    const { server, paid } = bank({ questions: { singleUse: true } })
    await using peer = await open(server)
    const first = await peer.call('pay', {})
    const second = await peer.call('pay', {}, withAnswers(first, {}))
    expectRefused(await peer.call('pay', {}, withAnswers(first, yes)))
    const answers = await Promise.all(Array.from({ length: 5 }, () => peer.call('pay', {}, withAnswers(second, yes))))
    expect(answers.filter(({ result }) => result)).toHaveLength(1)
    for (const refused of answers.filter(({ error }) => error)) expectRefused(refused)
    expect(paid).toHaveLength(1)
  })

  everyRaw('is not consumed by a request that is rejected [MRTR-022]', async (open) => {
    const { server, paid } = bank({ questions: { singleUse: true } })
    await using peer = await open(server)
    const first = await peer.call('pay', {})
    expectRefused(await peer.call('refund', {}, withAnswers(first, yes)))
    expectRefused(await peer.call('pay', { to: 'me' }, withAnswers(first, yes)))
    expect(textOf(await peer.call('pay', {}, withAnswers(first, yes)))).toBe('pay: accept')
    expect(paid).toEqual(['pay {}'])
  })

  everyRaw('can be used once across all nodes that share the used states [MRTR-022]', async (open) => {
    const used = new Set<string>()
    const singleUse: UsedStates = {
      claim: async (id, ttlMs) => {
        expect(ttlMs).toBeGreaterThan(0)
        const isNew = !used.has(id)
        used.add(id)
        return isNew
      },
    }
    const options = { stateKey: 'shared'.repeat(6), questions: { singleUse } }
    const [here, there] = [bank(options), bank(options)]
    await using one = await open(here.server)
    await using two = await open(there.server)
    const first = await one.call('pay', {})
    expect(textOf(await two.call('pay', {}, withAnswers(first, yes)))).toBe('pay: accept')
    expectRefused(await one.call('pay', {}, withAnswers(first, yes)))
    expect(here.paid).toEqual([])
  })

  everyRaw('set with inputRequired is sealed and bound too [MRTR-018, MRTR-019, MRTR-020]', async (open) => {
    const server = serverOf()
    const seen: unknown[] = []
    server.registerTool('hand', { inputSchema: anything }, (_args, ctx) => {
      seen.push(ctx.requestState)
      return ctx.requestState ? 'done' : inputRequired({ requestState: { isAdmin: false } })
    })
    await using peer = await open(server)
    const state = stateOf(await peer.call('hand', {}))
    seen.length = 0
    for (const forged of ['{"isAdmin":true}', btoa('{"isAdmin":true}'), `${state}x`, state.slice(1)]) {
      expectRefused(await peer.call('hand', {}, { requestState: forged }))
    }
    expectRefused(await peer.call('hand', { other: 1 }, { requestState: state }))
    expect(seen).toEqual([])
    expect(textOf(await peer.call('hand', {}, { requestState: state }))).toBe('done')
    expect(seen).toEqual([{ isAdmin: false }])
  })
})

async function expectStateRefused(peer: RawPeer, requestState: string, what: string): Promise<void> {
  expectRefused(await peer.call('pay', {}, { requestState, inputResponses: yes }), what)
}
