import { type ChildProcess, execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { verifyAudit } from '../../src/host/audit/verify.ts'
import { fileAudit } from '../../src/host/node/audit-file.ts'
import { fileHostStore } from '../../src/host/node/host-store-file.ts'
import { killed } from '../kit/child-process.ts'
import { errorOf } from '../kit/error-of.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'host-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

describe('processes that share the files of a host', () => {
  let home = ''
  let program = ''
  const source = `
    import { endWithParent } from '../../../test/kit/end-with-parent.js'
    import { fileAudit } from './audit-file.ts'
    import { fileHostStore } from './host-store-file.ts'
    import { HostState } from '../host-store.ts'
    endWithParent()
    const [what, path] = process.argv.slice(2)
    const work = {
      async pin() {
        const state = await HostState.open(fileHostStore(path))
        process.send('ready')
        await new Promise((resolve) => process.once('message', resolve))
        for (let round = 0; round < 15; round++) {
          await state.update((record) => { record.pins[process.pid + ' ' + round] = round })
        }
      },
      async audit() {
        const log = await fileAudit(path)
        log.append({ event: 'host-started', details: { pid: process.pid } })
        await log.flush()
        process.send('written')
        setInterval(() => {}, 1000)
        await new Promise(() => {})
      },
      async fill() {
        // Without a listener, the signal for a file that is too large ends the process.
        process.on('SIGXFSZ', () => {})
        const log = await fileAudit(path)
        let written = 0
        try {
          for (; written < 1000; written++) {
            log.append({ event: 'tool-call', details: { written } })
            await log.flush()
          }
        } catch (error) {
          console.log(JSON.stringify({ written, code: error.code }))
        }
        await log.close().catch(() => {})
      },
    }
    work[what]().then(() => process.disconnect?.())
  `

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'processes-'))
    program = join(home, 'program.mjs')
    await build({
      stdin: { contents: source, resolveDir: fileURLToPath(new URL('../../src/host/node', import.meta.url)) },
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

  it('lose no change of each other', async () => {
    const path = join(folder(), 'host.json')
    const children = await Promise.all([start('pin', path), start('pin', path)])
    const ends = children.map((child) => once(child, 'exit'))
    for (const child of children) child.send('go')
    for (const end of ends) expect(await end).toEqual([0, null])
    expect(Object.keys((await fileHostStore(path).load())?.pins ?? {})).toHaveLength(30)
    expect(readdirSync(join(path, '..'))).toEqual(['host.json'])
  })

  it('write to an audit log one at a time, and take it over from a process that was killed', async () => {
    const path = join(folder(), 'audit.jsonl')
    const child = await start('audit', path)
    const error = await errorOf(fileAudit(path, { maxWaitMs: 0 }))
    expect(error.message).toContain(`is in use`)
    expect(error.message).toContain(`process ${child.pid}`)
    await killed(child)
    const log = await fileAudit(path, { maxWaitMs: 0 })
    log.append({ event: 'host-started', details: { pid: process.pid } })
    await log.close()
    expect(await verifyAudit(path)).toMatchObject({ ok: true, entries: 2 })
  })

  const isWindows = process.platform === 'win32'
  if (isWindows) console.log('[skipped] a full disk: Windows has no limit for file sizes')
  it.skipIf(isWindows)('leave a valid audit log when the disk is full', async () => {
    const path = join(folder(), 'audit.jsonl')
    const command = 'ulimit -f 8 && exec "$0" "$@"'
    const { stdout } = await promisify(execFile)('sh', ['-c', command, process.execPath, program, 'fill', path])
    const { written, code } = JSON.parse(stdout)
    expect(code).toBe('EFBIG')
    expect(written).toBeGreaterThan(5)
    expect(await verifyAudit(path)).toMatchObject({ ok: true, entries: written, tornLines: 0 })
    const log = await fileAudit(path)
    log.append({ event: 'host-started', details: {} })
    await log.close()
    expect(await verifyAudit(path)).toMatchObject({ ok: true, entries: written + 1, tornLines: 0 })
  })
})
