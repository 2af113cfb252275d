import { connect } from 'tenon/client'
import { describe, expect, it } from 'vitest'
import { fixture, Workspace } from './support.ts'

const notes = fixture('notes.js')

describe('tenon serve', () => {
  it('serves a file over HTTP, with the names of the server', async () => {
    using work = new Workspace()
    await using served = work.start(['serve', notes, '--port', '0'])
    const url = await served.until(() => /http:\S+/.exec(served.stdout)?.[0])
    await using client = await connect(url)
    expect((await client.callTool('add', { a: 1, b: 2 })).text).toBe('3')
  })

  it.each([
    { args: [], code: 2, message: 'No server was given.' },
    { args: [notes, '--stdio', '--http'], code: 2, message: 'Pass either --stdio or --http.' },
    { args: [notes, '--host', '0.0.0.0'], code: 2, message: 'Listening on 0.0.0.0 needs a token' },
    { args: ['http://127.0.0.1:9/mcp', '--port', '1'], code: 2, message: '--port is for HTTP.' },
    { args: ['--', 'no-such-program'], code: 3, message: 'no-such-program' },
  ])('explains what it cannot serve: $message', async ({ args, code, message }) => {
    using work = new Workspace()
    const finished = await work.run(['serve', ...args])
    expect(finished).toEqual({ code, stdout: '', stderr: expect.stringContaining(message) })
  })
})
