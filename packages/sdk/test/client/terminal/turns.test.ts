import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { describe, expect, it, onTestFinished } from 'vitest'
import { terminalHandlers } from '../../../src/entry/terminal.ts'
import { NodeProcess } from '../../kit/child-process.ts'
import { fits, Person, server } from './support.ts'

const text = { a: { type: 'string' } } as const

describe('the terminal prompt queue', () => {
  it('asks one question at a time, in order of arrival', async () => {
    const person = new Person()
    const first = person.fillIn(text, { message: 'First' })
    const second = person.visit('https://example.com/')
    const third = person.fillIn(text, { message: 'Third' })
    await person.sees('> ')
    expect(person.screen).not.toContain('example.com')
    person.type('1', 'yes')
    expect((await first).content).toEqual({ a: '1' })
    await person.sees('Do you agree')
    expect(person.screen).not.toContain('Third')
    person.type('yes', '3', 'yes')
    expect((await second).action).toBe('accept')
    expect((await third).content).toEqual({ a: '3' })
  })

  it('shares one queue per input between all handlers', async () => {
    const person = new Person()
    const other = fits(terminalHandlers({ input: person.input, output: person.output }))
    const first = person.fillIn(text, { message: 'First' })
    const question = { message: 'Second', url: new URL('https://example.com/'), warnings: [] }
    const second = other.elicitUrl!(question, { server, signal: new AbortController().signal })
    person.type('1', 'yes', 'decline')
    expect((await first).content).toEqual({ a: '1' })
    expect(await second).toEqual({ action: 'decline' })
  })

  it('keeps input typed ahead, in whatever chunks it arrives', async () => {
    const person = new Person()
    for (const byte of Buffer.from('für dich\r\nyes\nzwei\nye')) person.input.write(Buffer.from([byte]))
    expect((await person.fillIn(text)).content).toEqual({ a: 'für dich' })
    const second = person.fillIn(text)
    person.input.end('s')
    expect((await second).content).toEqual({ a: 'zwei' })
  })

  it('cancels all questions when the input ends', async () => {
    const person = new Person()
    const first = person.fillIn(text)
    person.input.end('an answer that is not confirmed\n')
    expect(await first).toEqual({ action: 'cancel' })
    expect(await person.fillIn(text)).toEqual({ action: 'cancel' })
    expect(await person.visit('https://example.com/')).toEqual({ action: 'cancel' })
  })

  it('cancels questions when the input fails', async () => {
    const person = new Person()
    const result = person.fillIn(text)
    await person.sees('> ')
    person.input.destroy(new Error('broken'))
    expect(await result).toEqual({ action: 'cancel' })
  })

  it.each([false, true])(
    'ends a question when the server cancels it, and asks the next (terminal: %s)',
    async (isTerminal) => {
      const person = new Person({ isTerminal })
      const { signal, abort } = abortable()
      const waiting = abortable()
      const first = person.fillIn(text, { asking: { signal } })
      const second = person.fillIn(text, { message: 'Never shown', asking: { signal: waiting.signal } })
      const third = person.fillIn(text, { message: 'Third' })
      await person.sees('> ')
      waiting.abort()
      expect(await second).toEqual({ action: 'cancel' })
      abort()
      expect(await first).toEqual({ action: 'cancel' })
      expect(person.screen).toContain('The server withdrew the request.\n')
      await person.sees('Third')
      person.type('3', 'yes')
      expect((await third).content).toEqual({ a: '3' })
      expect(person.screen).not.toContain('Never shown')
    },
  )

  it('does not show a question that was cancelled before', async () => {
    const person = new Person()
    const { signal, abort } = abortable()
    abort()
    expect(await person.fillIn(text, { asking: { signal } })).toEqual({ action: 'cancel' })
    expect(person.screen).toBe('')
  })

  it.each([
    ['Ctrl-C', '\u0003'],
    ['Ctrl-D', '\u0004'],
  ])('cancels a question on %s and asks the next', async (_, key) => {
    const person = new Person({ isTerminal: true })
    const first = person.fillIn(text)
    await person.sees('> ')
    person.input.write(key)
    expect(await first).toEqual({ action: 'cancel' })
    const second = person.visit('https://example.com/')
    await person.sees('Do you agree')
    person.type('yes')
    expect(await second).toEqual({ action: 'accept' })
  })

  it('ignores input typed before a question was shown', async () => {
    const person = new Person({ isTerminal: true })
    person.type('yes')
    const result = person.visit('https://example.com/')
    person.type('yes')
    await person.sees('Do you agree')
    person.type('decline')
    expect(await result).toEqual({ action: 'decline' })
  })

  it('ignores input typed for a cancelled question', async () => {
    const person = new Person()
    const stop = new AbortController()
    const first = person.visit('https://one.example/', {}, { signal: stop.signal })
    await person.sees('Do you agree')
    person.input.write('ye')
    await new Promise((resolve) => setImmediate(resolve))
    stop.abort()
    expect(await first).toEqual({ action: 'cancel' })
    const second = person.visit('https://two.example/')
    await person.sees('Do you agree', 2)
    person.input.write('s\ndecline\n')
    expect(await second).toEqual({ action: 'decline' })
  })

  it('supports line editing on a terminal and restores its mode', async () => {
    const person = new Person({ isTerminal: true })
    const modes: boolean[] = []
    Object.assign(person.input, { setRawMode: (mode: boolean) => modes.push(mode) })
    const result = person.fillIn(text)
    await person.sees('> ')
    person.type('Parsi\u007f\u007fis').type('yes')
    expect((await result).content).toEqual({ a: 'Paris' })
    expect(modes).toEqual([true, false])
    expect(person.input.isPaused()).toBe(true)
    expect(person.input.listenerCount('end')).toBe(0)
  })

  it('leaves a shared input flowing', async () => {
    const person = new Person()
    const heard: string[] = []
    person.input.on('data', (chunk) => heard.push(String(chunk)))
    const result = person.fillIn(text)
    await person.sees('> ')
    person.type('x', 'yes')
    await result
    const more = once(person.input, 'data')
    person.type('for the others')
    await more
    expect(heard.at(-1)).toBe('for the others\n')
  })

  it('does not keep the process alive after the answers', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'terminal-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const entry = fileURLToPath(new URL('../../../src/entry/terminal.ts', import.meta.url))
    await build({
      entryPoints: [entry],
      bundle: true,
      format: 'esm',
      platform: 'node',
      outfile: join(folder, 'lib.mjs'),
    })
    writeFileSync(join(folder, 'ask.mjs'), program)
    await using child = new NodeProcess([join(folder, 'ask.mjs')])
    child.write('yes\n')
    // Its stdin stays open, and it exits anyway.
    expect(await child.exited).toEqual({ code: 0, signal: null })
    expect(child.stdout).toBe('accept')
  })
})

const program = `
import { terminalHandlers } from './lib.mjs'
const asking = { server: { name: 'a', address: undefined }, signal: new AbortController().signal }
const question = { message: 'Hi', url: new URL('https://example.com/'), warnings: [] }
const { action } = await terminalHandlers().elicitUrl(question, asking)
process.stdout.write(action)
`

function abortable() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}
