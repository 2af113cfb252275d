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
} from 'tenon/server'
import { afterEach, describe, expect, it, vi } from 'vitest'
import * as z from 'zod'
import { bank, expectRefused, nameForm, yes } from './attacks-support.ts'
import {
  accept,
  all,
  everyRaw,
  keysOf,
  modern,
  type RawPeer,
  serverOf,
  stateOf,
  textOf,
  ways,
  withAnswers,
} from './round-trips-support.ts'
import { everyAsking, everyForm } from './support.ts'

afterEach(() => {
  vi.useRealTimers()
})

describe('answers from a malicious client', () => {
  everyRaw('never replace the value of ctx.once [MRTR-018, MRTR-024]', async (open) => {
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

  everyRaw('that were not asked for are ignored, even 10,000 of them [MRTR-024]', async (open) => {
    const { server, paid } = bank()
    await using peer = await open(server)
    const first = await peer.call('pay', {})
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`k${at}`, accept({ name: 'x' })]))
    const again = await peer.call('pay', {}, withAnswers(first, many))
    expect(keysOf(again)).toEqual(['sure'])
    // The state does not include answers that were not asked for.
    expect(Math.abs(stateOf(again).length - stateOf(first).length)).toBeLessThan(10)
    expect(textOf(await peer.call('pay', {}, withAnswers(again, { ...many, ...yes })))).toBe('pay: accept')
    expect(paid).toHaveLength(1)
  })

  const tenMegabytes = 'x'.repeat(10 * 1024 * 1024)

  /** Creates a server whose tool returns the length of the answer, after another question if `more` is set. */
  function measure(options: McpServerOptions = {}): McpServer {
    const server = serverOf(options)
    const config = { inputSchema: { more: z.boolean() }, annotations: { readOnlyHint: true } }
    server.registerTool('measure', config, async ({ more }, ctx) => {
      const { content } = await ctx.elicit('Name?', nameForm, { key: 'sure' })
      if (more) await ctx.elicit('More?', nameForm, { key: 'more' })
      return `${content?.name.length}`
    })
    return server
  }

  it('of 10 MB over stdio are accepted in the last round trip, rejected if the state would carry them', async () => {
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

  it('of 10 MB are rejected over HTTP before the body is read, and other requests are served', async () => {
    await using peer = await ways.http(measure())
    const first = await peer.call('measure', { more: false })
    const big = peer.call('measure', { more: false }, withAnswers(first, { sure: accept({ name: tenMegabytes }) }))
    const refused = await big.catch((error: NodeJS.ErrnoException) => error)
    // The server may close the connection before the client has sent everything.
    if (refused instanceof Error) expect(['EPIPE', 'ECONNRESET']).toContain(refused.code)
    else expect(refused.error?.code).toBeLessThan(0)
    expect(textOf(await peer.call('measure', { more: false }, withAnswers(first, yes)))).toBe('3')
  })

  it('of 10 MB are rejected over HTTP if the state would carry them, even with a larger body limit', async () => {
    const serving = { maxBodyBytes: 64 * 1024 * 1024 }
    await using peer = await ways.http(measure(), { serving })
    const first = await peer.call('measure', { more: true })
    const answer = { sure: accept({ name: tenMegabytes }) }
    const { error } = await peer.call('measure', { more: true }, withAnswers(first, answer))
    expect(error?.code).toBe(-32603)
  })

  everyRaw('are rejected when the state would exceed maxStateBytes, and so is a larger state', async (open) => {
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

describe('a handler that never stops asking', () => {
  everyForm('is ended after maxRounds round trips', async (wire) => {
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

  everyAsking(
    'may catch the error of the first question too many, and answer without it',
    async (wire) => {
      const server = serverOf({ questions: { maxRounds: 1 } })
      server.registerTool('stop', {}, async (_args, ctx) => {
        await ctx.elicit('First?', nameForm, { key: 'first' })
        return ctx.elicit('Second?', nameForm, { key: 'second' }).then(
          () => 'asked twice',
          (error) => error.message,
        )
      })
      const handlers = { elicit: () => ({ action: 'accept' as const, content: { name: 'a' } }) }
      await using pair = await wire.connect(server, { handlers })
      expect((await pair.client.callTool('stop')).text).toContain('more than 1 time')
    },
    { revisions: ['2025-06-18', '2025-11-25'] },
  )

  everyForm('is ended after 32 round trips by default', async (wire) => {
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

  everyForm('is ended even when its question changes each time', async (wire) => {
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

  everyForm('is ended even when it repeats an answered question or asks nothing', async (wire) => {
    const server = serverOf({ questions: { maxRounds: 2 } })
    /** Far above the limit. An endless loop would block the test run instead of failing the test. */
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

  everyRaw('cannot be prolonged by a client that sends an older state', async (open) => {
    const server = serverOf({ questions: { maxRounds: 2, singleUse: false } })
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

/** Connects with the real stdio framing over in-memory pipes. */
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
