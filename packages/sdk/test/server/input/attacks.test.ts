import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { metaKeys } from 'tenon'
import { PeerError } from 'tenon/client'
import {
  acceptedContent,
  inputRequired,
  type McpServer,
  type McpServerOptions,
  StdioServerTransport,
  type UsedStates,
} from 'tenon/server'
import { afterEach, describe, expect, it, vi } from 'vitest'
import * as z from 'zod'
import {
  accept,
  all,
  everyRaw,
  keysOf,
  type Message,
  modern,
  type RawPeer,
  serverOf,
  stateOf,
  textOf,
  ways,
  withAnswers,
} from './round-trips-support.ts'
import { everyForm } from './support.ts'

const nameForm = z.object({ name: z.string() })
const anything = z.record(z.string(), z.unknown())
const yes = { sure: accept({ name: 'yes' }) }

afterEach(() => {
  vi.useRealTimers()
})

/** Pays once, and only after the user said so. */
function bank(options: McpServerOptions = {}, name = 'bank') {
  const server = serverOf(options, name)
  const paid: string[] = []
  for (const tool of ['pay', 'refund']) {
    server.registerTool(tool, { inputSchema: anything }, async (args, ctx) => {
      await ctx.once('account', () => `secret-account-number ${args.text}`)
      const { action } = await ctx.elicit(`${tool}?`, nameForm, { key: 'sure' })
      if (action === 'accept') paid.push(`${tool} ${JSON.stringify(args)}`)
      return `${tool}: ${action}`
    })
  }
  server.registerPrompt('pay', {}, async (_args, ctx) => (await ctx.elicit('Sure?', nameForm, { key: 'sure' })).action)
  return { server, paid }
}

function expectRefused({ error, result }: Message, what?: string): void {
  expect(result, what).toBeUndefined()
  expect(error?.code, what).toBe(-32602)
  expect(error?.message, what).toContain('requestState')
}

describe('a state that the client was given', () => {
  everyRaw('says nothing to the client, and is different each time [MRTR-019, MRTR-020]', async (open) => {
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

  it('is refused to another user, and to nobody in particular [MRTR-019, MRTR-021, SEC-011, SEC-012]', async () => {
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

  everyRaw('is refused for another tool, prompt or method [MRTR-019, MRTR-021]', async (open) => {
    const { server, paid } = bank()
    await using peer = await open(server)
    const first = await peer.call('pay', {})
    expectRefused(await peer.call('refund', {}, withAnswers(first, yes)))
    expectRefused(await peer.request('prompts/get', { name: 'pay', arguments: {}, ...withAnswers(first, yes) }))
    const prompt = await peer.request('prompts/get', { name: 'pay' })
    expectRefused(await peer.request('tools/call', { name: 'pay', ...withAnswers(prompt, yes) }))
    expect(paid).toEqual([])
  })

  everyRaw('is refused for other arguments, however alike they look [MRTR-019, MRTR-021]', async (open) => {
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
    // Nor with more or less around them.
    const first = await peer.call('pay', {})
    expectRefused(await peer.call('pay', {}, { ...withAnswers(first, yes), task: { ttl: 1 } }))
    expectRefused(await peer.request('tools/call', { name: 'pay', ...withAnswers(first, yes) }))
  })

  everyRaw('is good for the same arguments in another order', async (open) => {
    const { server, paid } = bank()
    await using peer = await open(server)
    const first = await peer.call('pay', { to: 'a', rule: { from: 1, until: 2 }, list: [{ x: 1, y: 2 }] })
    const reordered = { list: [{ y: 2, x: 1 }], rule: { until: 2, from: 1 }, to: 'a' }
    const last = await peer.call('pay', reordered, withAnswers(first, yes))
    expect(textOf(last)).toBe('pay: accept')
    expect(paid).toHaveLength(1)
  })

  everyRaw('is refused by a server of another name, and taken by one of the same [MRTR-019]', async (open) => {
    const stateKey = 'one key for all, of enough characters'
    const [bankOne, bankTwo, shop] = [bank({ stateKey }), bank({ stateKey }), bank({ stateKey }, 'shop')]
    await using one = await open(bankOne.server)
    await using two = await open(bankTwo.server)
    await using other = await open(shop.server)
    const first = await one.call('pay', {})
    expectRefused(await other.call('pay', {}, withAnswers(first, yes)))
    expect(textOf(await two.call('pay', {}, withAnswers(first, yes)))).toBe('pay: accept')
  })

  everyRaw('is refused by a server with another key, also a random one [MRTR-019]', async (open) => {
    await using one = await open(bank().server)
    await using two = await open(bank().server)
    const first = await one.call('pay', {})
    expectRefused(await two.call('pay', {}, withAnswers(first, yes)))
  })

  everyRaw('outlives the change of the key, as long as the old one is still known [MRTR-019]', async (open) => {
    const old = bank({ stateKey: 'old '.repeat(8) })
    const both = bank({ stateKeys: ['new '.repeat(8), 'old '.repeat(8)] })
    const fresh = bank({ stateKeys: [new TextEncoder().encode('new '.repeat(8))] })
    await using before = await open(old.server)
    await using during = await open(both.server)
    await using after = await open(fresh.server)
    const first = await before.call('pay', {})
    expectRefused(await after.call('pay', {}, withAnswers(first, yes)))
    // Asked again by the server with both keys, it carries the new seal.
    const second = await during.call('pay', {}, withAnswers(first, {}))
    expectRefused(await before.call('pay', {}, withAnswers(second, yes)))
    expect(textOf(await after.call('pay', {}, withAnswers(second, yes)))).toBe('pay: accept')
    expect(textOf(await during.call('pay', {}, withAnswers(first, yes)))).toBe('pay: accept')
  })

  everyRaw('is refused when it has expired, and each round gives new time [MRTR-021]', async (open) => {
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

  everyRaw('is refused when anything of it is missing or too much [MRTR-018, MRTR-019]', async (open) => {
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

  it('is refused when one bit of it is another, at every byte [MRTR-018, MRTR-019]', async () => {
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

  it('is refused when one bit of its text is another, at every character [MRTR-018, MRTR-019]', async () => {
    await using peer = await ways.memory(bank().server)
    // States of every length modulo 3: the last character has bits to spare in two of them.
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

  it('is refused over HTTP as well when a bit of it is another [MRTR-018, MRTR-019]', async () => {
    await using peer = await ways.http(bank().server)
    const bytes = Buffer.from(stateOf(await peer.call('pay', {})), 'base64url')
    for (let at = 0; at < bytes.length; at += 7) {
      const flipped = Buffer.from(bytes)
      flipped[at] = flipped[at]! ^ 1
      await expectStateRefused(peer, flipped.toString('base64url'), `byte ${at}`)
    }
  })

  everyRaw('is good again as long as it is valid, if nothing else is said [MRTR-022]', async (open) => {
    const { server, paid } = bank()
    await using peer = await open(server)
    const first = await peer.call('pay', {})
    for (const _ of [1, 2]) expect(textOf(await peer.call('pay', {}, withAnswers(first, yes)))).toBe('pay: accept')
    expect(paid).toHaveLength(2)
  })

  everyRaw('is good once where it is to be used once, whatever comes with it [MRTR-022]', async (open) => {
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

  everyRaw('is not used up by someone who could not have used it [MRTR-022]', async (open) => {
    const { server, paid } = bank({ questions: { singleUse: true } })
    await using peer = await open(server)
    const first = await peer.call('pay', {})
    expectRefused(await peer.call('refund', {}, withAnswers(first, yes)))
    expectRefused(await peer.call('pay', { to: 'me' }, withAnswers(first, yes)))
    expect(textOf(await peer.call('pay', {}, withAnswers(first, yes)))).toBe('pay: accept')
    expect(paid).toEqual(['pay {}'])
  })

  everyRaw('is good once for all nodes that share what was used [MRTR-022]', async (open) => {
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

  everyRaw('by hand is sealed and bound like any other [MRTR-018, MRTR-019, MRTR-020]', async (open) => {
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

describe('answers of a client that means harm', () => {
  everyRaw('never stand for work that is done once [MRTR-018, MRTR-024]', async (open) => {
    const server = serverOf()
    let count = 0
    server.registerTool('balance', {}, async (_args, ctx) => {
      await ctx.elicit('Before?', nameForm, { key: 'before' })
      const balance = await ctx.once('balance', () => {
        count++
        return 10
      })
      await ctx.elicit('After?', nameForm, { key: 'after' })
      return `${balance}`
    })
    await using peer = await open(server)
    const forged = { balance: 1_000_000, once: [['balance', '1000000']], 'once:balance': 5, 'balance#1': accept() }
    const first = await peer.call('balance', {}, { inputResponses: forged })
    const second = await peer.call('balance', {}, withAnswers(first, { ...forged, before: accept({ name: 'a' }) }))
    expect(keysOf(second)).toEqual(['after'])
    const last = await peer.call('balance', {}, withAnswers(second, { ...forged, after: accept({ name: 'b' }) }))
    expect(textOf(last)).toBe('10')
    expect(count).toBe(1)
  })

  everyRaw('may be 10,000, of which the ones that were asked for count [MRTR-024]', async (open) => {
    const { server, paid } = bank()
    await using peer = await open(server)
    const first = await peer.call('pay', {})
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`k${at}`, accept({ name: 'x' })]))
    const again = await peer.call('pay', {}, withAnswers(first, many))
    expect(keysOf(again)).toEqual(['sure'])
    // What was not asked for is not carried along.
    expect(Math.abs(stateOf(again).length - stateOf(first).length)).toBeLessThan(10)
    expect(textOf(await peer.call('pay', {}, withAnswers(again, { ...many, ...yes })))).toBe('pay: accept')
    expect(paid).toHaveLength(1)
  })

  const tenMegabytes = 'x'.repeat(10 * 1024 * 1024)

  /** Says how long the answer is, and asks once more if it is to. */
  function measure(options: McpServerOptions = {}): McpServer {
    const server = serverOf(options)
    server.registerTool('measure', { inputSchema: { more: z.boolean() } }, async ({ more }, ctx) => {
      const { content } = await ctx.elicit('Name?', nameForm, { key: 'sure' })
      if (more) await ctx.elicit('More?', nameForm, { key: 'more' })
      return `${content?.name.length}`
    })
    return server
  }

  it('of 10 MB do no harm over stdio: used where that is all, refused where the client would have to carry it', async () => {
    await using peer = openStdio(measure())
    const answer = { sure: accept({ name: tenMegabytes }) }
    const first = await peer.call('measure', { more: false })
    expect(textOf(await peer.call('measure', { more: false }, withAnswers(first, answer)))).toBe(
      `${tenMegabytes.length}`,
    )
    const asking = await peer.call('measure', { more: true })
    const { error, result } = await peer.call('measure', { more: true }, withAnswers(asking, answer))
    expect(result).toBeUndefined()
    expect(error?.code).toBe(-32603)
    expect(error!.message.length).toBeLessThan(500)
    expect(textOf(await peer.call('measure', { more: false }, withAnswers(first, yes)))).toBe('3')
  })

  it('of 10 MB are refused over HTTP before they are read, and others are served', async () => {
    await using peer = await ways.http(measure())
    const first = await peer.call('measure', { more: false })
    const big = peer.call('measure', { more: false }, withAnswers(first, { sure: accept({ name: tenMegabytes }) }))
    const refused = await big.catch((error: NodeJS.ErrnoException) => error)
    // A server that does not read on may be gone before everything is sent.
    if (refused instanceof Error) expect(['EPIPE', 'ECONNRESET']).toContain(refused.code)
    else expect(refused.error?.code).toBeLessThan(0)
    expect(textOf(await peer.call('measure', { more: false }, withAnswers(first, yes)))).toBe('3')
  })

  it('of 10 MB are carried by nobody over HTTP either, where so much may be sent', async () => {
    const serving = { maxBodyBytes: 64 * 1024 * 1024 }
    await using peer = await ways.http(measure(), { serving })
    const first = await peer.call('measure', { more: true })
    const answer = { sure: accept({ name: tenMegabytes }) }
    const { error } = await peer.call('measure', { more: true }, withAnswers(first, answer))
    expect(error?.code).toBe(-32603)
  })

  everyRaw('are not carried beyond what the server allows, nor taken back beyond it', async (open) => {
    const server = measure({ questions: { maxStateBytes: 2_000 } })
    await using peer = await open(server)
    const first = await peer.call('measure', { more: true })
    const small = await peer.call('measure', { more: true }, withAnswers(first, yes))
    expect(keysOf(small)).toEqual(['more'])
    const { error } = await peer.call(
      'measure',
      { more: true },
      withAnswers(first, { sure: accept({ name: 'x'.repeat(2_000) }) }),
    )
    expect(error).toMatchObject({ code: -32603, message: expect.stringContaining('2000') })
    expectRefused(await peer.call('measure', { more: true }, { requestState: 'A'.repeat(2_001), inputResponses: yes }))
  })
})

describe('a handler that asks for ever', () => {
  everyForm('is ended after so many rounds as the server allows', async (wire) => {
    const server = serverOf({ questions: { maxRounds: 5 } })
    server.registerTool('nag', {}, async (_args, ctx) => {
      for (let at = 0; ; at++) await ctx.elicit(`Question ${at}?`, nameForm, { key: `${at}` })
    })
    server.registerTool('hand', {}, (_args, ctx) => {
      const count = ((ctx.requestState as number | undefined) ?? 0) + 1
      const k = inputRequired.elicit({ message: `Question ${count}?`, requestedSchema: nameForm })
      return inputRequired({ inputRequests: { k }, requestState: count })
    })
    let asked = 0
    await using pair = await wire.connect(server, {
      handlers: {
        elicit: () => {
          asked++
          return { action: 'accept', content: { name: 'a' } }
        },
      },
    })
    for (const name of ['nag', 'hand']) {
      asked = 0
      const error = await pair.client.callTool(name).catch((reason) => reason)
      expect(error, name).toBeInstanceOf(PeerError)
      expect(error, name).toMatchObject({ rpcCode: -32603, message: expect.stringContaining('more than 5 times') })
      expect(asked, name).toBe(5)
    }
  })

  everyForm('is ended after 32 rounds, if nothing else is said', async (wire) => {
    const server = serverOf()
    server.registerPrompt('nag', {}, async (_args, ctx) => {
      for (let at = 0; ; at++) await ctx.elicit(`Question ${at}?`, nameForm, { key: `${at}` })
    })
    let asked = 0
    await using pair = await wire.connect(server, {
      handlers: {
        elicit: () => {
          asked++
          return { action: 'accept', content: { name: 'a' } }
        },
      },
    })
    await expect(pair.client.getPrompt('nag')).rejects.toThrow(/32 times/)
    expect(asked).toBe(32)
  })

  everyForm('is ended also when it changes its question each time', async (wire) => {
    const server = serverOf({ questions: { maxRounds: 4 } })
    let at = 0
    server.registerTool('change', {}, async (_args, ctx) => {
      for (;;) await ctx.elicit(`Question ${++at}?`, nameForm)
    })
    let asked = 0
    await using pair = await wire.connect(server, {
      handlers: {
        elicit: () => {
          asked++
          return { action: 'accept', content: { name: 'a' } }
        },
      },
    })
    await expect(pair.client.callTool('change')).rejects.toThrow(
      wire.revision.era === 'handshake'
        ? /more than 4 times/
        : /changed between two runs of the handler, more than 3 times/,
    )
    expect(asked).toBe(4)
  })

  everyForm('is ended also when it asks for what is known already, or for nothing', async (wire) => {
    const server = serverOf({ questions: { maxRounds: 2 } })
    /** Far more than is allowed: an endless loop would end the test run and not the test. */
    const enough = 500
    let runs = 0
    server.registerTool('roots', {}, (_args, ctx) => {
      if (++runs > enough) return 'not bounded'
      acceptedContent(ctx.inputResponses, 'r')
      return inputRequired({ inputRequests: { r: inputRequired.listRoots() }, requestState: runs })
    })
    server.registerTool('nothing', {}, () => (++runs > enough ? 'not bounded' : inputRequired({ requestState: runs })))
    await using pair = await wire.connect(server, { handlers: { roots: [] } })
    for (const name of ['roots', 'nothing']) {
      runs = 0
      await expect(pair.client.callTool(name), name).rejects.toThrow(/2 times/)
      expect(runs, name).toBeLessThanOrEqual(3)
    }
  })

  everyRaw('cannot be kept alive by a client that sends an older state', async (open) => {
    const server = serverOf({ questions: { maxRounds: 2 } })
    server.registerTool('nag', {}, async (_args, ctx) => {
      for (let at = 0; ; at++) await ctx.elicit(`Question ${at}?`, nameForm, { key: `${at}` })
    })
    await using peer = await open(server)
    const first = await peer.call('nag')
    const second = await peer.call('nag', {}, withAnswers(first, { 0: accept({ name: 'a' }) }))
    for (const _ of [1, 2]) {
      const { error } = await peer.call('nag', {}, withAnswers(second, { 1: accept({ name: 'a' }) }))
      expect(error?.code).toBe(-32603)
    }
    expect(keysOf(await peer.call('nag', {}, withAnswers(first, { 0: accept({ name: 'a' }) })))).toEqual(['1'])
  })
})

async function expectStateRefused(peer: RawPeer, requestState: string, what: string): Promise<void> {
  expectRefused(await peer.call('pay', {}, { requestState, inputResponses: yes }), what)
}

/** The real framing, with bytes in pipes. */
function openStdio(server: McpServer): Pick<RawPeer, 'call'> & AsyncDisposable {
  const stdin = new PassThrough()
  const stdout = new PassThrough()
  const connected = server.connect(new StdioServerTransport({ stdin, stdout }))
  let nextId = 1
  let held = ''
  const lines: string[] = []
  stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (held + chunk).split('\n')
    held = parts.pop()!
    lines.push(...parts)
  })
  const _meta = { [metaKeys.protocolVersion]: modern, [metaKeys.clientCapabilities]: all }
  return {
    async call(name, args, more) {
      await connected
      const id = nextId++
      const params = { name, arguments: args, ...more, _meta }
      stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`)
      while (lines.length === 0) await once(stdout, 'data')
      const message = JSON.parse(lines.shift()!)
      expect(message.id).toBe(id)
      return message
    },
    async [Symbol.asyncDispose]() {
      await server.close()
    },
  }
}
