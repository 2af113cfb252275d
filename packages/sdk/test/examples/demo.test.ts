import { describe, expect } from 'vitest'
import { server } from '../../../../examples/demo/server.ts'
import { everyWire } from '../kit/every-wire.ts'

describe('the demo server', () => {
  everyWire('answers requests to every feature', async (wire) => {
    await using pair = await wire.connect(server)
    const { client } = pair
    expect((await client.listTools().all()).map(({ name }) => name)).toEqual([
      'echo',
      'add',
      'sleep',
      'write_note',
      'search_notes',
      'plan_day',
      'proofread',
    ])
    expect((await client.callTool('echo', { text: 'hi' })).text).toBe('hi')
    expect((await client.callTool('add', { a: 1, b: 2 })).text).toBe('{"result":3}')
    const progress: number[] = []
    await client.callTool('sleep', { ms: 5 }, { onProgress: (event) => progress.push(event.progress) })
    expect(progress).toEqual([1, 2, 3, 4, 5])
    expect((await client.listResources().all()).length).toBe(3)
    expect((await client.listResourceTemplates().all()).length).toBe(1)
    expect((await client.readResource('note://today')).contents).toHaveLength(1)
    expect((await client.listPrompts().all()).length).toBe(1)
    expect((await client.getPrompt('review', { code: 'x' })).messages).toHaveLength(1)
    await client.ping()
  })

  everyWire('has a long task to start, watch, answer and cancel', async (wire) => {
    await using pair = await wire.connect(server, {
      handlers: { elicit: () => ({ action: 'accept', content: { name: 'Ann' } }) },
    })
    const { client } = pair
    const task = await client.callToolAsTask('proofread', { seconds: 0 })
    const expected = isOld(client.revision) ? /Nobody could be asked/ : /were proofread by Ann/
    expect((await task.result()).text).toMatch(expected)
    const stopped = await client.callToolAsTask('proofread', { seconds: 60 })
    const outcome = stopped.result().catch((error) => error)
    await stopped.cancel()
    expect((await outcome).code).toBe('cancelled')
  })
})

/** Returns whether the revision is older than forms, which were added in 2025-06-18. */
function isOld(revision: string): boolean {
  return revision < '2025-06-18'
}
