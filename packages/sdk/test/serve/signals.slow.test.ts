import { connect } from 'tenon/client'
import { describe, expect, it } from 'vitest'
import { isAlive, NodeProcess } from '../kit/child-process.ts'
import { eventually } from '../kit/eventually.ts'

const program = new URL('fixtures/program.js', import.meta.url).pathname

async function start(...parts: string[]) {
  const child = new NodeProcess([program, ...parts])
  const exited = child.exited.then(() => Promise.reject(new Error(`The program ended: ${child.stderr}`)))
  await Promise.race([child.until(() => child.stderr.includes('started')), exited])
  exited.catch(() => {})
  const port = Number(/port (\d+)/.exec(child.stderr)?.[1])
  return { child, port, url: `http://127.0.0.1:${port}/mcp` }
}

/** Whether the program has begun to shut down, or is gone. */
async function isStopping(port: number): Promise<boolean> {
  const health = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined)
  return health?.status !== 200
}

/** Sends the signal during a call, lets the call end, and returns what the caller got. */
async function interruptCall(
  { child, port, url }: Awaited<ReturnType<typeof start>>,
  signal: NodeJS.Signals,
  prefix = '',
): Promise<string | undefined> {
  await using client = await connect(url, { revision: '2025-11-25', restarts: 0 })
  const begun = child.until(() => child.stderr.includes('work begins'))
  const told = new Promise<void>((resolve) => client.on('log', () => resolve()))
  const working = client.callTool(`${prefix}work`).then(
    ({ text }) => text,
    (error) => `lost: ${error.message}`,
  )
  await (prefix ? told : begun)
  child.child.kill(signal)
  await eventually(() => isStopping(port))
  await client.callTool(`${prefix}release`).catch(() => {})
  return await working
}

describe('a signal to a program that serves HTTP', () => {
  it.each([
    ['a gateway with a stdio server', ['gateway']],
    ['a stdio client that was connected before', ['client', 'http']],
    ['a stdio client that was connected later', ['http', 'client']],
    ['a stdio client and a handler of its own for one signal', ['once', 'client']],
    ['a task worker', ['tasks', 'http']],
    ['a task worker that was started later', ['http', 'tasks']],
    ['stdin and stdout', ['stdio', 'http']],
    ['stdin and stdout, which were served later', ['http', 'stdio']],
  ])('answers the calls that are running: with %s [SDK-018]', async (_what, parts) => {
    const started = await start(...parts)
    await using child = started.child
    const prefix = parts[0] === 'gateway' ? 'worker_' : ''
    expect(await interruptCall(started, 'SIGTERM', prefix)).toBe('worked')
    expect(await child.exited).toEqual({ code: 0, signal: null })
  })

  it('ends the program when the signal is repeated, together with the servers that it started [SDK-018]', async () => {
    const { child: started, port, url } = await start('http', 'client')
    await using child = started
    const worker = Number(/worker (\d+)/.exec(child.stderr)?.[1])
    await using client = await connect(url, { revision: '2025-11-25', restarts: 0 })
    const lost = client.callTool('work').catch(() => 'lost')
    await child.until(() => child.stderr.includes('work begins'))
    child.child.kill('SIGTERM')
    await eventually(() => isStopping(port))
    child.child.kill('SIGTERM')
    expect(await child.exited).toEqual({ code: null, signal: 'SIGTERM' })
    await eventually(() => !isAlive(worker))
    expect(await lost).toBe('lost')
  })
})
