import { TimeoutError } from 'tenon'
import type { InputContext } from 'tenon/client'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { errorOf } from '../../kit/error-of.ts'
import { gate } from '../../kit/gate.ts'
import { Peer } from '../../kit/http-peer.ts'
import { serve } from '../../kit/serve-http.ts'
import { movableTimers } from '../../kit/time.ts'
import { said } from '../../kit/transcript.ts'

import { answers, asking } from './asked.ts'
import { everyAsking, everyForm } from './support.ts'

const named = z.object({ name: z.string().min(2) })

describe('while the user has not answered', () => {
  everyForm('the timeout of the call is paused, and resumes afterwards', async (wire) => {
    const stuck = gate()
    const reached = gate()
    const server = asking(async (ctx) => {
      const answer = await ctx.elicit('Who?', named)
      if (answer.content?.name === 'Slow') {
        reached.open()
        await stuck.opened
      }
      return 'done'
    })
    const limits = { timeoutMs: 30_000, maxTotalTimeoutMs: 40_000 }
    let name = 'Ada'
    await using pair = await wire.connect(server, {
      handlers: {
        elicit: async () => {
          // Longer than either timeout.
          await time.advance(70_000)
          return { action: 'accept', content: { name } }
        },
      },
    })
    using time = movableTimers()
    expect((await pair.client.callTool('ask', {}, limits)).text).toBe('done')
    name = 'Slow'
    const slow = errorOf(pair.client.callTool('ask', {}, limits))
    await reached.opened
    expect(await time.advanceUntil(slow)).toBeInstanceOf(TimeoutError)
    stuck.open()
  })

  const handshake = { revisions: ['2025-06-18', '2025-11-25'] as const }

  everyAsking(
    'the server cancels a question that timed out, and its handler continues',
    async (wire) => {
      for (const [options, ask] of [
        [{}, { timeoutMs: 30 }],
        [{ questions: { timeoutMs: 30 } }, {}],
      ] as const) {
        const server = asking(async (ctx) => {
          const error = await errorOf(ctx.elicit('Who?', named, ask))
          return error instanceof TimeoutError ? `waited ${error.timeoutMs}` : `${error}`
        }, options)
        const client = patient()
        await using pair = await wire.connect(server, { handlers: client.handlers })
        expect((await pair.client.callTool('ask')).text).toBe('waited 30')
        await client.aborted
        expect(said(pair.transcript, 'server', 'notifications/cancelled')).toHaveLength(1)
        expect(answers(pair.transcript)).toEqual([])
      }
    },
    handshake,
  )

  it('the server cancels a question on the stream of the call that it belongs to [HTTP-032]', async () => {
    const server = asking((ctx) => ctx.elicit('Who?', named, { timeoutMs: 30 }).catch(({ code }) => code))
    await using http = await serve(server)
    const capabilities = { elicitation: { form: {} } }
    await using peer = await Peer.open(http.url, '2025-11-25', { capabilities })
    const called = await peer.request('tools/call', { name: 'ask', arguments: {} })
    const { id } = await called.notified('elicitation/create')
    expect((await called.response()).result!.content![0]!.text).toBe('timeout')
    const taken = called.messages.filter(({ method }) => method === 'notifications/cancelled')
    expect(taken.map(({ params }) => params!.requestId)).toEqual([id])
  })

  everyAsking(
    'the server can cancel a question with its own signal',
    async (wire) => {
      const changedMind = new AbortController()
      const server = asking(async (ctx) => {
        const { code } = await errorOf(ctx.elicit('Who?', named, { signal: changedMind.signal }))
        return code
      })
      const client = patient()
      await using pair = await wire.connect(server, { handlers: client.handlers })
      const called = pair.client.callTool('ask')
      await client.asked
      changedMind.abort('never mind')
      expect((await called).text).toBe('cancelled')
      await client.aborted
      expect(answers(pair.transcript)).toEqual([])
    },
    handshake,
  )

  everyAsking(
    'a question that the handler does not await ends with its call',
    async (wire) => {
      const asks = gate()
      const server = asking(async (ctx) => {
        void ctx.elicit('Who?', named)
        await asks.opened
        return 'done'
      })
      const client = patient()
      await using pair = await wire.connect(server, { handlers: client.handlers })
      const called = pair.client.callTool('ask')
      await client.asked
      asks.open()
      expect((await called).text).toBe('done')
      await client.aborted
    },
    handshake,
  )

  everyAsking(
    'cancelling the call cancels the question and aborts the tool handler',
    async (wire) => {
      const told = gate<string>()
      const server = asking(async (ctx) => {
        const { code } = await errorOf(ctx.elicit('Who?', named))
        told.open(`${code}, ${ctx.signal.aborted}`)
      })
      const client = patient()
      await using pair = await wire.connect(server, { handlers: client.handlers })
      const stop = new AbortController()
      const called = errorOf(pair.client.callTool('ask', {}, { signal: stop.signal }))
      await client.asked
      stop.abort('no longer wanted')
      expect((await called).code).toBe('cancelled')
      await client.aborted
      expect(await told.opened).toBe('cancelled, true')
    },
    handshake,
  )

  everyForm('cancelling the call aborts the input handler of the client, and nothing more is sent', async (wire) => {
    const server = asking((ctx) => ctx.elicit('Who?', named))
    const client = patient()
    await using pair = await wire.connect(server, { handlers: client.handlers })
    const stop = new AbortController()
    const called = errorOf(pair.client.callTool('ask', {}, { signal: stop.signal }))
    await client.asked
    stop.abort('no longer wanted')
    await client.aborted
    expect((await called).code).toBe('cancelled')
    expect(answers(pair.transcript)).toEqual([])
    expect(said(pair.transcript, 'client', 'tools/call')).toHaveLength(1)
  })

  everyForm('cancelling the call does not wait for an input handler that ignores its signal', async (wire) => {
    const server = asking((ctx) => ctx.elicit('Who?', named))
    const asked = gate()
    const deaf = () => {
      asked.open()
      return new Promise<never>(() => {})
    }
    await using pair = await wire.connect(server, { handlers: { elicit: deaf } })
    const stop = new AbortController()
    const called = errorOf(pair.client.callTool('ask', {}, { signal: stop.signal }))
    await asked.opened
    stop.abort('no longer wanted')
    expect((await called).code).toBe('cancelled')
  })

  everyForm('closing the client aborts its input handler', async (wire) => {
    const server = asking((ctx) => ctx.elicit('Who?', named))
    const client = patient()
    await using pair = await wire.connect(server, { handlers: client.handlers })
    const called = errorOf(pair.client.callTool('ask'))
    await client.asked
    await pair.client.close()
    await client.aborted
    expect((await called).code).toMatch(/^(closed|cancelled)$/)
  })
})

/** Creates handlers whose user never answers; they record when they are asked and when they are aborted. */
function patient() {
  const asked = gate<InputContext>()
  const aborted = gate()
  const elicit = (_form: unknown, asking: InputContext) => {
    asked.open(asking)
    return new Promise<never>((_, reject) => {
      asking.signal.addEventListener('abort', () => {
        aborted.open()
        reject(new Error('Nobody wants to know'))
      })
    })
  }
  return { handlers: { elicit }, asked: asked.opened, aborted: aborted.opened }
}
