import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, connect } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { tasks } from 'tenon/tasks'
import { everyWire, recordedServer, recordServer, replayServer } from 'tenon/testing'
import { matchers } from 'tenon/testing/vitest'
import { afterAll, expect, it } from 'vitest'
import * as z from 'zod'

expect.extend(matchers)

const folder = mkdtempSync(join(tmpdir(), 'tenon-recording-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const newFile = () => join(folder, `${++files}.jsonl`)

const token = 'ghp_x8Kq2LmN4vRt7YwZ1aBcD3eFgH5iJ6oP9sQu'

/** Counts, so that a replay cannot give the same answers by running again. */
function createServer(): McpServer {
  const server = new McpServer({ name: 'shop', version: '1.0.0' }, { listChangedDelayMs: 0 })
  let count = 0
  server.registerTool('count', { inputSchema: { by: z.number() } }, ({ by }) => {
    count += by
    return `${count}`
  })
  server.registerTool('login', { inputSchema: { password: z.string() } }, () => `Your token: ${token}`)
  server.registerTool('order', {}, async (_, ctx) => {
    ctx.progress(1, { total: 2 })
    const { action, content } = await ctx.elicit('How many?', z.object({ count: z.number() }))
    return action === 'accept' ? `Ordered ${content.count}` : 'Nothing ordered'
  })
  server.registerTool('grow', {}, () => {
    server.registerTool(`extra${++count}`, {}, () => 'extra')
    return 'grown'
  })
  return server
}

function answering(count: number) {
  return { handlers: { elicit: () => ({ action: 'accept', content: { count } }) as const } }
}

/** What the test does with a server, real or replayed. */
async function converse(client: Client): Promise<unknown[]> {
  const progress: number[] = []
  const { tools } = await client.listTools()
  return [
    client.revision,
    tools.map(({ name }) => name),
    (await client.callTool('count', { by: 2 })).text,
    (await client.callTool('count', { by: 2 })).text,
    (await client.callTool('order', {}, { onProgress: (step) => progress.push(step.progress) })).text,
    progress,
  ]
}

everyWire(
  it,
  'replays a conversation with questions and progress as it was recorded',
  async (wire) => {
    const path = newFile()
    const options = { ...answering(3), revision: wire.revision.id }
    const before = await using(await recordServer(await wire.open(createServer()), path), options, converse)
    expect(before).toContain('Ordered 3')
    expect(await using(replayServer(path), options, converse)).toEqual(before)
    expect(await using(replayServer(path, { order: 'recorded' }), options, converse)).toEqual(before)
  },
  { transports: ['memory', 'stdio', 'http'], skip: cannotAsk },
)

function cannotAsk({ revision }: { revision: { id: string } }): string | undefined {
  return ['2024-11-05', '2025-03-26'].includes(revision.id) ? 'the revision has no elicitation' : undefined
}

everyWire(
  it,
  'writes the same file each time',
  async (wire) => {
    const [first, second] = [newFile(), newFile()]
    const options = { ...answering(3), revision: wire.revision.id }
    for (const path of [first, second])
      await using(await recordServer(await wire.open(createServer()), path), options, converse)
    expect(readFileSync(second, 'utf8')).toBe(readFileSync(first, 'utf8'))
  },
  { transports: ['memory'], skip: cannotAsk },
)

it('negotiates like the recorded server when the revision is not given', async () => {
  const path = newFile()
  const old = { ...answering(3), revision: '2025-06-18' } as const
  const before = await using(await recordServer(createServer(), path), old, converse)
  expect(await using(replayServer(path), answering(3), converse)).toEqual(before)
})

it('redacts secrets in the file, and still recognizes the request that contained one', async () => {
  const path = newFile()
  const login = async (client: Client) => (await client.callTool('login', { password: 'Vq8sPz1m' })).text
  expect(await using(await recordServer(createServer(), path), {}, login)).toContain(token)
  const text = readFileSync(path, 'utf8')
  expect(text).not.toContain(token)
  expect(text).not.toContain('Vq8sPz1m')
  expect(await using(replayServer(path), {}, login)).toBe('Your token: [redacted key or token]')
})

it('applies a redaction of the user when it records and when it replays', async () => {
  const path = newFile()
  const redact = (line: { from: 'client' | 'server'; message: object }) =>
    JSON.parse(JSON.stringify(line).replaceAll('"by":7', '"by":0'))
  const count = async (client: Client) => (await client.callTool('count', { by: 7 })).text
  await using(await recordServer(createServer(), path, { redact }), {}, count)
  expect(readFileSync(path, 'utf8')).not.toContain('"by":7')
  expect(await using(replayServer(path, { redact }), {}, count)).toBe('7')
})

it('rejects a request that was never recorded, and lists those that were', async () => {
  const path = newFile()
  await using(await recordServer(createServer(), path), answering(1), converse)
  await using(replayServer(path), answering(1), async (client) => {
    await expect(client.callTool('count', { by: 9 })).rejects.toThrow(
      `Never recorded: tools/call {"name":"count","arguments":{"by":9}}. ${path} has: tools/call {"name":"count","arguments":{"by":2}}`,
    )
    await expect(client.getPrompt('x')).rejects.toThrow(/prompts/)
  })
})

it('repeats the last response when a request is made more often than recorded', async () => {
  const path = newFile()
  await using(await recordServer(createServer(), path), answering(1), converse)
  await using(replayServer(path), answering(1), async (client) => {
    const texts = []
    for (let call = 0; call < 3; call++) texts.push((await client.callTool('count', { by: 2 })).text)
    expect(texts).toEqual(['2', '4', '4'])
  })
})

it('rejects requests in another order with order: recorded, and tells which ones remain', async () => {
  const path = newFile()
  await using(await recordServer(createServer(), path), answering(1), converse)
  const server = replayServer(path, { order: 'recorded' })
  await using(server, answering(1), async (client) => {
    await expect(client.callTool('count', { by: 2 })).rejects.toThrow(
      'Not in the recorded order: tools/call {"name":"count","arguments":{"by":2}}. The next request must be: tools/list',
    )
    expect(server.remaining.map(({ method }) => method)).toEqual([
      'tools/list',
      'tools/call',
      'tools/call',
      'tools/call',
      'tools/call',
    ])
  })
})

everyWire(
  it,
  'rejects an answer that differs from the recorded one',
  async (wire) => {
    const path = newFile()
    const { id: revision } = wire.revision
    await using(await recordServer(createServer(), path), { ...answering(3), revision }, converse)
    const server = replayServer(path)
    await using(server, { ...answering(4), revision }, async (client) => {
      await expect(client.callTool('order')).rejects.toThrow(/"count":4.*"count":3/)
    })
    expect(server).toHaveAsked('How many?')
  },
  { transports: ['memory'], skip: cannotAsk },
)

everyWire(
  it,
  'sends a change notification after the call that caused it',
  async (wire) => {
    const path = newFile()
    const { id: revision } = wire.revision
    const grow = async (client: Client) => {
      const changed = new Promise((resolve) => client.on('toolsChanged', () => resolve('changed')))
      if (wire.revision.era === 'stateless') await client.listen({ toolsListChanged: true })
      const result = await client.callTool('grow')
      return [await changed, result.text]
    }
    const before = await using(await recordServer(createServer(), path), { revision }, grow)
    expect(await using(replayServer(path), { revision }, grow)).toEqual(before)
  },
  { transports: ['memory'] },
)

everyWire(
  it,
  'replays a task with its status and result',
  async (wire) => {
    const path = newFile()
    const { id: revision } = wire.revision
    const server = new McpServer({ name: 'printer', version: '1.0.0' }, { tasks: tasks({ pollIntervalMs: 20 }) })
    server.registerTool('print', { execution: { taskSupport: 'required' } }, async (_, ctx) => {
      ctx.task?.status('printing')
      await ctx.elicit('Bind it?', z.object({ count: z.number() }))
      return `Printed at ${process.hrtime.bigint()}`
    })
    const print = async (client: Client) => {
      const task = await client.callToolAsTask('print')
      return [typeof task.id, (await task.result()).text]
    }
    const options = { ...answering(1), revision }
    const before = await using(await recordServer(server, path), options, print)
    expect(before[0]).toBe('string')
    const replayed = replayServer(path)
    expect(await using(replayed, options, print)).toEqual(before)
    expect(replayed).toHaveAsked('Bind it?')
    expect(readFileSync(path, 'utf8')).toContain('"taskId":"task-1"')
    await server.close()
  },
  { transports: ['memory'], revisions: ['2025-11-25', '2026-07-28'] },
)

it('records a server that runs as a process', async () => {
  const path = join(folder, 'new', 'folder', 'process.jsonl')
  const file = join(folder, 'server.mjs')
  const lib = new URL('../../dist/lib/server.js', import.meta.url).href
  writeFileSync(
    file,
    `import { McpServer, serveStdio } from ${JSON.stringify(lib)}
    const server = new McpServer({ name: 'pid', version: '1.0.0' })
    server.registerTool('pid', {}, () => String(process.pid))
    await serveStdio(server)`,
  )
  const pid = async (client: Client) => (await client.callTool('pid')).text
  const target = { command: process.execPath, args: [file] }
  const before = await using(await recordedServer(target, path, { record: true }), {}, pid)
  expect(await using(await recordedServer(target, path, { record: false }), {}, pid)).toBe(before)
})

it('explains a missing or broken file', () => {
  expect(() => replayServer('missing.jsonl')).toThrow(
    'Recording not found: missing.jsonl. Record it with recordServer()',
  )
  const path = newFile()
  writeFileSync(path, '{"recording":"mcp","version":1}\n{"from":"client"}\n')
  expect(() => replayServer(path)).toThrow(`Cannot read the recording ${path}: line 2 is invalid`)
  writeFileSync(path, '{"name":"something else"}\n')
  expect(() => replayServer(path)).toThrow('line 1 is invalid')
})

/** Connects, works and closes, which writes the recording. */
async function using<T>(
  transport: Parameters<typeof connect>[0],
  options: Parameters<typeof connect>[1],
  work: (client: Client) => Promise<T>,
): Promise<T> {
  await using client = await connect(transport, options as object)
  return await work(client)
}
