import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, connect, McpError } from 'tenon/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventually } from '../../../kit/eventually.ts'

const fixture = new URL('./fixtures/effects.js', import.meta.url).pathname
const clientCount = 50

describe('a server that is killed and restarted under load', () => {
  it.each(['2025-11-25', '2026-07-28'] as const)(
    'is reached again by all 50 clients, which repeat no call with side effects (%s) [SESS-009, HTTP-057]',
    async (revision) => {
      const folder = mkdtempSync(join(tmpdir(), 'tenon-effects-'))
      onTestFinished(() => rmSync(folder, { recursive: true }))
      const file = join(folder, 'effects')
      let running = await start(0, file)
      const url = `http://127.0.0.1:${running.port}/mcp`
      const reconnect = { initialDelayMs: 20, maxDelayMs: 200, maxRetries: 100 }
      const open = () => connect(url, { revision, reconnect })
      const clients = await Promise.all(Array.from({ length: clientCount }, open))
      const renewed = clients.map((client) => new Promise((resolve) => client.on('sessionRenewed', resolve)))
      await clients[0]!.subscribeResource('note://a')

      const outcomes = { done: new Set<string>(), failed: new Set<string>(), others: [] as unknown[] }
      let isOver = false
      const workers = clients.map(async (client, index) => {
        for (let at = 0; !isOver; at++) await act(client, `${index}-${at}`, outcomes)
      })
      for (let round = 0; round < 3; round++) {
        await eventually(() => outcomes.done.size > clientCount * 3 * (round + 1))
        running.child.kill('SIGKILL')
        await once(running.child, 'exit')
        running = await start(running.port, file)
      }
      await eventually(() => outcomes.done.size > clientCount * 12)
      isOver = true
      await Promise.all(workers)

      // All clients are served without any action of the application.
      const last = await Promise.all(clients.map((client, index) => client.callTool('act', { token: `last-${index}` })))
      expect(last.map(({ text }) => text)).toEqual(clients.map((_, index) => `did last-${index}`))
      expect(outcomes.others).toEqual([])
      if (revision === '2025-11-25') await Promise.all(renewed)

      const effects = readFileSync(file, 'utf8').trim().split('\n')
      expect(new Set(effects).size).toBe(effects.length)
      for (const token of outcomes.done) expect(effects).toContain(token)

      // The subscription was renewed.
      const updated = new Promise((resolve) => clients[0]!.on('resourceUpdated', resolve))
      const nudge = setInterval(() => running.child.send('update'), 50)
      expect(await updated).toEqual({ uri: 'note://a' })
      clearInterval(nudge)
      await Promise.all(clients.map((client) => client.close()))
      running.child.kill('SIGKILL')
    },
    60_000,
  )
})

async function act(
  client: Client,
  token: string,
  outcomes: { done: Set<string>; failed: Set<string>; others: unknown[] },
): Promise<void> {
  try {
    const { text } = await client.callTool('act', { token })
    if (text === `did ${token}`) outcomes.done.add(token)
    else outcomes.others.push(text)
  } catch (error) {
    // The call was lost with the process and reported as such, so the caller can decide what to do.
    if (error instanceof McpError && ['http', 'closed', 'session-renewed'].includes(error.code)) {
      outcomes.failed.add(token)
    } else outcomes.others.push(error)
  }
}

async function start(port: number, file: string): Promise<{ child: ChildProcess; port: number }> {
  const child = fork(fixture, [String(port), file], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [actual] = (await once(child, 'message')) as [number]
  return { child, port: actual }
}
