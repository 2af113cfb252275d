import { StdioClientTransport } from 'tenon/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isAlive, NodeProcess } from '../../kit/child-process.ts'
import { eventually } from '../../kit/eventually.ts'
import { everyRevision } from '../../kit/revisions.ts'
import { fixture, type Notes, open, stubborn, takeNotes, wireServer } from './support.ts'

/** Returns the logged events without the lines that the server received. */
const fate = (notes: Notes) => notes.lines.filter((line) => !line.startsWith('line '))

describe('closing the connection to a server process', () => {
  everyRevision('closes stdin and waits, without a signal for a server that exits [STDIO-011]', async (revision) => {
    const notes = takeNotes()
    const transport = new StdioClientTransport({ ...stubborn(notes, 'modern', 'ends-slowly'), shutdownMs: 5_000 })
    const client = await open(transport, { revision })
    const { pid } = transport
    await client.close()
    expect(fate(notes)).toEqual(['stdin ended', 'ended by itself'])
    expect(isAlive(pid!)).toBe(false)
  })

  everyRevision('sends SIGTERM to a server that does not exit [STDIO-012, STDIO-013, STDIO-011]', async (revision) => {
    const notes = takeNotes()
    const transport = new StdioClientTransport(stubborn(notes, 'modern', 'ignores-end'))
    const client = await open(transport, { revision })
    const { pid } = transport
    await client.close()
    expect(fate(notes)).toEqual(['stdin ended', 'SIGTERM'])
    expect(isAlive(pid!)).toBe(false)
  })

  everyRevision('sends SIGKILL to a server that ignores SIGTERM [STDIO-012, STDIO-013]', async (revision) => {
    const notes = takeNotes()
    const transport = new StdioClientTransport(stubborn(notes, 'modern', 'ignores-end', 'ignores-sigterm'))
    const client = await open(transport, { revision })
    const { process: child } = transport
    const ended = new Promise((resolve) => child!.once('exit', (_code, signal) => resolve(signal)))
    await client.close()
    expect(await ended).toBe('SIGKILL')
    expect(fate(notes)).toEqual(['stdin ended', 'SIGTERM'])
    expect(isAlive(child!.pid!)).toBe(false)
  })

  it.each([
    ['that exits when stdin ends', []],
    ['that exits on SIGTERM', ['ignores-end']],
    ['that needs SIGKILL', ['ignores-end', 'ignores-sigterm']],
  ])('also stops the processes that the server started, for a server %s', async (_what, habits) => {
    for (const kind of ['grandchild', 'stubborn-grandchild']) {
      const notes = takeNotes()
      const client = await open(new StdioClientTransport(stubborn(notes, kind, ...habits)), { revision: '2025-11-25' })
      const grandchild = Number(notes.lines.find((line) => line.startsWith('grandchild '))?.slice(11))
      expect(isAlive(grandchild)).toBe(true)
      await client.close()
      await eventually(() => !isAlive(grandchild))
    }
  })

  it('also stops the processes that the server started when the server exited by itself', async () => {
    for (const kind of ['grandchild', 'stubborn-grandchild']) {
      const notes = takeNotes()
      const client = await open(new StdioClientTransport(stubborn(notes, kind)), {
        revision: '2025-11-25',
        restarts: 0,
      })
      const grandchild = Number(notes.lines.find((line) => line.startsWith('grandchild '))?.slice(11))
      onTestFinished(() => {
        if (isAlive(grandchild)) process.kill(grandchild, 'SIGKILL')
      })
      expect(isAlive(grandchild)).toBe(true)
      await expect(client.request('die')).rejects.toMatchObject({ code: 'closed', detail: { exitCode: 3 } })
      await client.close()
      await eventually(() => !isAlive(grandchild))
    }
  })

  it('rejects pending requests and can be repeated', async () => {
    const client = await open(new StdioClientTransport(wireServer), {})
    const slow = client.callTool('sleep', { ms: 60_000 }).catch((reason) => reason)
    await Promise.all([client.close(), client.close()])
    expect(await slow).toMatchObject({ code: 'closed' })
    expect(client.state).toBe('closed')
  })
})

describe('a host process that exits', () => {
  it('stops the servers that it started', async () => {
    const notes = takeNotes()
    const program = `
      import { connect, StdioClientTransport } from 'tenon/client'
      const transport = new StdioClientTransport(${JSON.stringify(stubborn(notes, 'ignores-end', 'ignores-sigterm'))})
      const client = await connect(transport, { revision: '2025-11-25' })
      process.stdout.write(String(transport.pid), () => process.exit(0))`
    await using host = new NodeProcess(['--input-type=module', '-e', program], { cwd: fixture('.') })
    await host.exited
    const pid = host.stdout
    expect(Number(pid)).toBeGreaterThan(0)
    await eventually(() => !isAlive(Number(pid)))
  })

  it('stops the processes that its servers started even if it is killed with SIGKILL', async () => {
    const notes = takeNotes()
    const program = `
      import { connect, StdioClientTransport } from 'tenon/client'
      const transport = new StdioClientTransport(${JSON.stringify(stubborn(notes, 'grandchild', 'ignores-end', 'ignores-sigterm'))})
      const client = await connect(transport, { revision: '2025-11-25' })
      process.stdout.write(transport.pid + ' ')
      setInterval(() => {}, 1_000)`
    await using host = new NodeProcess(['--input-type=module', '-e', program], { cwd: fixture('.') })
    await host.until(() => host.stdout.includes(' '))
    const grandchild = Number(notes.lines.find((line) => line.startsWith('grandchild '))?.slice(11))
    expect(isAlive(grandchild)).toBe(true)
    onTestFinished(() => {
      if (isAlive(grandchild)) process.kill(grandchild, 'SIGKILL')
    })
    host.child.kill('SIGKILL')
    await eventually(() => !isAlive(grandchild) && !isAlive(Number(host.stdout)))
  })
})
