import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { fixture, program, Workspace } from './support.ts'
import { startWorkshop } from './workshop.ts'

/** Runs a program on a pseudo terminal. The version of util-linux is needed, which macOS does not have. */
const script = '/usr/bin/script'
const hasScript = process.platform === 'linux' && existsSync(script)
if (!hasScript) console.warn(`Tests on a terminal are skipped: they need ${script} of util-linux.`)
const onTerminal = it.skipIf(!hasScript)

class TerminalRun {
  screen = ''
  readonly exited: Promise<number | null>
  readonly #child
  readonly #watchers = new Set<() => void>()

  constructor(work: Workspace, args: readonly string[], columns = 80) {
    const words = [process.execPath, program, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`)
    const env = { ...work.env, TERM: 'xterm' }
    const command = `stty cols ${columns}; ${words.join(' ')}`
    this.#child = spawn(script, ['-qec', command, '/dev/null'], { cwd: work.path, env })
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.screen += text
      for (const watcher of [...this.#watchers]) watcher()
    })
    this.exited = new Promise((resolve) => this.#child.once('close', (code) => resolve(code)))
  }

  type(text: string): void {
    this.#child.stdin.write(text)
  }

  /** Types a text again until something is shown, because what is typed before a question can be read is ignored. */
  async typeUntil(text: string, shown: string): Promise<void> {
    this.type(text)
    const timer = setInterval(() => this.type(text), 1_000)
    await this.until(shown)
    clearInterval(timer)
  }

  until(text: string | RegExp): Promise<void> {
    return new Promise((resolve) => {
      const watcher = () => {
        if (!(typeof text === 'string' ? this.screen.includes(text) : text.test(this.screen))) return
        this.#watchers.delete(watcher)
        resolve()
      }
      this.#watchers.add(watcher)
      watcher()
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end()
    this.#child.kill('SIGKILL')
    await this.exited
  }
}

onTerminal('answers a question of the server', async () => {
  using work = new Workspace()
  await using run = new TerminalRun(work, ['call', 'ask', '--', process.execPath, fixture('workshop.js')])
  await run.until('Your name?')
  await run.until('> ')
  await run.typeUntil('Ada\r', 'Send?')
  await run.typeUntil('yes\r', 'Accepted.')
  expect(await run.exited).toBe(0)
  expect(run.screen).toContain('Hello Ada')
})

onTerminal('shows a progress bar, and cancels the task on Ctrl-C', async () => {
  using work = new Workspace()
  await using workshop = await startWorkshop()
  await using run = new TerminalRun(work, ['call', workshop.url, 'job', 'steps=5000', '--no-color'])
  await run.until(/job {2}.*\d+ s/)
  run.type('\u0003')
  expect(await run.exited).toBe(130)
  expect(run.screen).toContain('Cancelling the call of "job". Press Ctrl-C again to leave at once.')
  expect(run.screen).toContain('You cancelled the call of "job".')
  // Nothing but clearing the line.
  expect(run.screen.replaceAll('\u001b[2K', '')).not.toContain('\u001b')
})

onTerminal('ends at once on the second Ctrl-C', async () => {
  using work = new Workspace()
  await using run = new TerminalRun(work, ['call', 'stubborn', '--', process.execPath, fixture('workshop.js')])
  await run.until(/stubborn {2}/)
  run.type('\u0003')
  await run.until('Press Ctrl-C again')
  run.type('\u0003')
  expect(await run.exited).toBe(130)
})

onTerminal('uses colors on a terminal', async () => {
  using work = new Workspace()
  await using run = new TerminalRun(work, ['list', fixture('notes.js')])
  expect(await run.exited).toBe(0)
  expect(run.screen).toContain('\u001b[1mnotes 1.2.3\u001b[0m')
})

onTerminal('uses the whole width of a terminal for tables, and 120 columns for sentences', async () => {
  using work = new Workspace()
  await using run = new TerminalRun(work, ['list', fixture('hostile.js'), '--no-color'], 160)
  expect(await run.exited).toBe(0)
  const lines = run.screen.split('\r\n')
  const columnsOf = (line = '') => [...line].reduce((sum, char) => sum + (char === '漢' ? 2 : 1), 0)
  expect(columnsOf(lines.find((line) => line.includes('漢')))).toBeGreaterThan(150)
  expect(Math.max(...lines.map(columnsOf))).toBeLessThanOrEqual(160)
  const sentences = lines.filter((line) => line.startsWith('│'))
  expect(Math.max(...sentences.map(columnsOf))).toBeGreaterThan(100)
  expect(Math.max(...sentences.map(columnsOf))).toBeLessThanOrEqual(120)
})
