import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, connect, PeerError } from 'tenon/client'
import { describe, expect, it, onTestFinished } from 'vitest'

const fixture = new URL('./fixtures/cluster-node.js', import.meta.url).pathname
const runs = 1_000
const workers = 16

describe('two server processes behind a proxy that alternates between them', () => {
  it('run each of 1,000 calls with three questions exactly once [MRTR-002, MRTR-009]', async () => {
    const notes = takeNotes()
    const nodes = [
      await startNode(notes.folder, 'shared '.repeat(6)),
      await startNode(notes.folder, 'shared '.repeat(6)),
    ]
    const proxy = await openProxy(nodes.map(({ port }) => port))
    const clients = await Promise.all(Array.from({ length: workers }, (_, at) => openClient(proxy.url(at))))

    let next = 0
    await Promise.all(
      clients.map(async (client) => {
        while (next < runs) await callOnce(client, `run-${next++}`)
      }),
    )
    await Promise.all(clients.map((client) => client.close()))

    const effects = notes.read('effects')
    expect(effects).toHaveLength(runs)
    expect(new Set(effects).size).toBe(runs)
    const byRun = new Map<string, string[]>()
    for (const line of notes.read('rounds')) {
      const [run, pid] = line.split(' ') as [string, string]
      byRun.set(run, [...(byRun.get(run) ?? []), pid])
    }
    expect(byRun.size).toBe(runs)
    for (const [run, pids] of byRun) {
      const [one, other] = pids
      expect(one, run).not.toBe(other)
      expect(pids, run).toEqual([one, other, one, other])
    }
  }, 120_000)

  it('reject the state of each other when their keys differ [MRTR-019]', async () => {
    const notes = takeNotes()
    const nodes = [
      await startNode(notes.folder, 'one key '.repeat(4)),
      await startNode(notes.folder, 'another key '.repeat(4)),
    ]
    const proxy = await openProxy(nodes.map(({ port }) => port))
    const client = await openClient(proxy.url(0))
    const error = await client.callTool('three', { run: 'a' }).catch((reason) => reason)
    expect(error).toBeInstanceOf(PeerError)
    expect(error.rpcCode).toBe(-32602)
    expect(notes.read('effects')).toEqual([])
    await client.close()
  })
})

async function callOnce(client: Client, run: string): Promise<void> {
  const { text } = await client.callTool('three', { run })
  const { values, receipt } = JSON.parse(text)
  expect(values).toEqual([`First of ${run}?`, `Second of ${run}?`, `Third of ${run}?`])
  expect(receipt).toMatch(new RegExp(`^${run} by \\d+$`))
}

function openClient(url: string): Promise<Client> {
  return connect(url, {
    revision: '2026-07-28',
    handlers: { elicit: ({ message }) => ({ action: 'accept', content: { value: message } }) },
  })
}

async function startNode(folder: string, key: string): Promise<{ child: ChildProcess; port: number }> {
  const child = fork(fixture, [folder], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { PATH: process.env.PATH, STATE_KEY: key },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [port] = (await once(child, 'message')) as [number]
  return { child, port }
}

/** Starts a proxy that treats each path as one caller and sends its requests to the nodes in turn. */
async function openProxy(ports: readonly number[]): Promise<{ url(caller: number): string }> {
  const turns = new Map<string, number>()
  const server = createServer((incoming, outgoing) => {
    const path = incoming.url ?? ''
    const turn = turns.get(path) ?? 0
    turns.set(path, turn + 1)
    const { method, headers } = incoming
    const target = { host: '127.0.0.1', port: ports[turn % ports.length]!, path: '/mcp', method, headers }
    const onward = httpRequest(target, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return { url: (caller) => `http://127.0.0.1:${port}/caller-${caller}` }
}

/** Creates a temporary folder for the output of the nodes. */
function takeNotes() {
  const folder = mkdtempSync(join(tmpdir(), 'tenon-fleet-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const read = (file: string): string[] => {
    try {
      return readFileSync(join(folder, file), 'utf8').split('\n').filter(Boolean)
    } catch {
      return []
    }
  }
  return { folder, read }
}
