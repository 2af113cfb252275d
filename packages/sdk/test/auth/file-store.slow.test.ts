import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { fileTokenStore } from '../../src/auth/node/file-store.ts'

describe('processes that share a token file', () => {
  let home = ''
  let program = ''

  /** What each of them runs: told what to do by its arguments, it says when it is there. */
  const source = `
    import { endWithParent } from '../../../test/kit/end-with-parent.js'
    import { fileTokenStore } from './file-store.ts'
    endWithParent()
    const [what, path, rounds] = process.argv.slice(2)
    const store = fileTokenStore(path)
    const increment = async (key) => store.set(key, String(Number((await store.get(key)) ?? 0) + 1))
    const work = {
      async count() {
        for (let round = 0; round < Number(rounds); round++) {
          await store.lock('count', () => increment('count'))
        }
      },
      async write() {
        for (let round = 0; round < Number(rounds); round++) await store.set(process.pid + ' ' + round, 'x')
      },
      async hold() {
        await store.lock('count', () => {
          process.send('held')
          return new Promise((resolve) => setInterval(() => {}, 1000))
        })
      },
      async die() {
        for (;;) await store.lock('count', () => increment('count'))
      },
    }
    process.send('ready')
    process.once('message', () => work[what]().then(() => process.disconnect()))
  `

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'processes-'))
    program = join(home, 'program.mjs')
    await build({
      stdin: { contents: source, resolveDir: fileURLToPath(new URL('../../src/auth/node', import.meta.url)) },
      bundle: true,
      platform: 'node',
      format: 'esm',
      outfile: program,
    })
  })

  afterAll(() => rmSync(home, { recursive: true }))

  async function start(...args: string[]): Promise<ChildProcess> {
    const child = fork(program, args)
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child, 'message')
    return child
  }

  async function run(children: ChildProcess[]): Promise<void> {
    const ends = children.map((child) => once(child, 'exit'))
    for (const child of children) child.send('go')
    for (const end of ends) expect(await end).toEqual([0, null])
  }

  it('loses none of a thousand increments that five processes make under the lock', { timeout: 120_000 }, async () => {
    const path = join(folder(), 'tokens.json')
    await run(await Promise.all(Array.from({ length: 5 }, () => start('count', path, '200'))))
    expect(await fileTokenStore(path).get('count')).toBe('1000')
    expect(readdirSync(join(path, '..'))).toEqual(['tokens.json'])
  })

  it('loses no concurrent write without a lock', { timeout: 60_000 }, async () => {
    const path = join(folder(), 'tokens.json')
    await run(await Promise.all(Array.from({ length: 4 }, () => start('write', path, '25'))))
    expect(Object.keys(JSON.parse(readFileSync(path, 'utf8')).values)).toHaveLength(100)
  })

  it('continues immediately when a process that holds the lock is killed', async () => {
    const path = join(folder(), 'tokens.json')
    // It would take longer than the test may to see that a lock shows no life.
    const store = fileTokenStore(path, { staleMs: 600_000 })
    const holder = await start('hold', path)
    const held = once(holder, 'message')
    holder.send('go')
    await held
    let isOurs = false
    const waiting = store.lock('count', async () => {
      isOurs = true
    })
    await expect(fileTokenStore(path, { maxWaitMs: 100 }).lock('count', async () => {})).rejects.toMatchObject({
      code: 'timeout',
    })
    expect(isOurs).toBe(false)
    holder.kill('SIGKILL')
    await waiting
    expect(isOurs).toBe(true)
  })

  it('survives processes being killed at any moment', { timeout: 60_000 }, async () => {
    const path = join(folder(), 'tokens.json')
    const survivors = [start('count', path, '50'), start('count', path, '50')]
    const running = run(await Promise.all(survivors))
    for (let round = 0; round < 8; round++) {
      const child = await start('die', path)
      const ended = once(child, 'exit')
      child.send('go')
      const before = Number((await fileTokenStore(path).get('count')) ?? 0)
      while (Number((await fileTokenStore(path).get('count')) ?? 0) < before + 3) {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 10))
      }
      child.kill('SIGKILL')
      await ended
    }
    await running
    const count = Number(await fileTokenStore(path).get('count'))
    await fileTokenStore(path).lock('count', async () => {})
    expect(count).toBeGreaterThanOrEqual(100)
    expect(readdirSync(join(path, '..')).filter((name) => name.endsWith('.corrupt'))).toEqual([])
  })
})

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'tokens-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}
