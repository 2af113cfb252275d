import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../sdk/test/kit/eventually.ts'
import { PipedLines, TypedLines } from '../src/chat/line-source.ts'

/** Streams that look like a terminal. */
function createTerminal() {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} })
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80 })
  let shown = ''
  output.setEncoding('utf8').on('data', (text: string) => {
    shown += text
  })
  const lines = new TypedLines({
    input,
    output,
    complete: (line) => ['/tools '].filter((each) => each.startsWith(line)),
  })
  return { input, lines, shown: () => shown }
}

describe('lines of a terminal', () => {
  it('returns typed lines, and earlier ones with the arrow keys', async () => {
    const { input, lines } = createTerminal()
    const first = lines.next()
    input.write('/servers\r')
    expect(await first).toBe('/servers')
    const second = lines.next()
    input.write('\u001b[A\r')
    expect(await second).toBe('/servers')
  })

  it('keeps lines that were pasted together', async () => {
    const { input, lines } = createTerminal()
    const first = lines.next()
    input.write('one\rtwo\rthree\r')
    expect([await first, await lines.next(), await lines.next()]).toEqual(['one', 'two', 'three'])
  })

  it('lets a question use the terminal, and shows the unfinished line again afterwards', async () => {
    const { input, lines, shown } = createTerminal()
    const line = lines.next()
    input.write('/ca')
    await eventually(() => shown().includes('/ca'))
    const answer = await lines.exclusively(async () => {
      input.write('')
      return 'answered'
    })
    expect(answer).toBe('answered')
    input.write('ll\r')
    expect(await line).toBe('/call')
  })

  it('completes a line with the tab key', async () => {
    const { input, lines, shown } = createTerminal()
    const line = lines.next()
    input.write('/to\t')
    await eventually(() => shown().includes('/tools '))
    input.write('\r')
    expect(await line).toBe('/tools ')
  })

  it('clears the line with Ctrl-C, and ends with a second one', async () => {
    const { input, lines, shown } = createTerminal()
    const line = lines.next()
    input.write('wrong')
    await eventually(() => shown().includes('wrong'))
    input.write('\u0003')
    input.write('\u0003')
    expect(await line).toBeUndefined()
  })
})

describe('lines of a pipe', () => {
  it('keeps lines that arrive before they are read, and ends with the pipe', async () => {
    const input = new PassThrough()
    const lines = new PipedLines(input)
    input.end('one\ntwo')
    expect([await lines.next(), await lines.next(), await lines.next()]).toEqual(['one', 'two', undefined])
  })
})
