import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { AuditRecord } from '../../src/host/audit/audit.ts'
import { type AuditTarget, BatchedAuditLog } from '../../src/host/audit/batched-log.ts'
import { memoryAudit } from '../../src/host/audit/memory.ts'
import { verifyAudit } from '../../src/host/audit/verify.ts'
import { fileAudit, nodeDigest } from '../../src/host/node/audit-file.ts'
import { errorOf } from '../kit/error-of.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'audit-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

const call = (number: number): AuditRecord => ({ event: 'tool-call', server: 'files', details: { number } })

/** A log with some entries: line 1 names the format, entry n is in line n + 1. */
async function written(path: string, entries: number, options: Parameters<typeof fileAudit>[1] = {}): Promise<void> {
  await using log = await fileAudit(path, options)
  for (let number = 1; number <= entries; number++) log.append(call(number))
}

const linesOf = (path: string) => readFileSync(path, 'utf8').split('\n').slice(0, -1)
const writeLines = (path: string, lines: readonly string[]) =>
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''))

function changeLines(path: string, change: (lines: string[]) => void): void {
  const lines = linesOf(path)
  change(lines)
  writeLines(path, lines)
}

describe('a log in a file', () => {
  it('writes one JSON object per line, and each names the hash of the one before', async () => {
    const path = join(folder(), 'logs', 'audit.jsonl')
    const log = await fileAudit(path)
    log.append({
      event: 'decision',
      server: 'files',
      caller: 'ada',
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: 'b7ad6b7169203331',
      details: { decision: 'allow', tool: 'read' },
    })
    log.append({ event: 'host-closed', details: {} })
    await log.close()
    const [first, second, third] = linesOf(path).map((line) => JSON.parse(line))
    expect(first).toMatchObject({ seq: 1, event: 'segment', details: { version: 1, algorithm: 'sha256' } })
    expect(Object.keys(second)).toEqual([
      'seq',
      'time',
      'event',
      'server',
      'caller',
      'traceId',
      'spanId',
      'details',
      'prev',
      'hash',
    ])
    expect(second).toMatchObject({
      seq: 2,
      caller: 'ada',
      prev: first.hash,
      details: { decision: 'allow', tool: 'read' },
    })
    expect(new Date(second.time).toISOString()).toBe(second.time)
    expect(Object.keys(third)).toEqual(['seq', 'time', 'event', 'details', 'prev', 'hash'])
    expect(log.head).toEqual({ seq: 3, hash: third.hash })
    expect(await verifyAudit(path)).toMatchObject({ ok: true, entries: 2, tornLines: 0, problem: undefined })
  })

  it('is readable by its owner only, and stays so', async () => {
    const path = join(folder(), 'audit.jsonl')
    writeFileSync(path, '', { mode: 0o644 })
    await written(path, 1)
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it('does not write through a symbolic link', async () => {
    const path = join(folder(), 'audit.jsonl')
    writeFileSync(`${path}.target`, '')
    symlinkSync(`${path}.target`, path)
    expect(await errorOf(fileAudit(path))).toMatchObject({ code: 'ELOOP' })
    expect(readFileSync(`${path}.target`, 'utf8')).toBe('')
    expect(readdirSync(join(path, '..')).filter((name) => name.includes('lock'))).toEqual([])
  })

  it('continues the chain when it is opened again', async () => {
    const path = join(folder(), 'audit.jsonl')
    await written(path, 3)
    await written(path, 2)
    expect(linesOf(path).map((line) => JSON.parse(line).seq)).toEqual([1, 2, 3, 4, 5, 6])
    expect(await verifyAudit(path)).toMatchObject({ ok: true, entries: 5 })
  })

  it('cannot be opened twice, and can be opened again after it was closed', async () => {
    const path = join(folder(), 'audit.jsonl')
    const log = await fileAudit(path)
    const error = await errorOf(fileAudit(path, { maxWaitMs: 0 }))
    expect(error.code).toBe('invalid-argument')
    expect(error.message).toContain(`The audit log "${path}" is in use.`)
    expect(error.message).toContain(`process ${process.pid}`)
    await log.close()
    await (await fileAudit(path, { maxWaitMs: 0 })).close()
  })

  it('starts a new file when one is full, and verifies all of them as one chain', async () => {
    const path = join(folder(), 'audit.jsonl')
    await written(path, 40, { maxFileBytes: 2_000 })
    await written(path, 20, { maxFileBytes: 2_000 })
    const names = readdirSync(join(path, '..'))
    expect(names.length).toBeGreaterThan(5)
    for (const name of names) expect(statSync(join(path, '..', name)).size).toBeLessThan(2_500)
    expect(await verifyAudit(path)).toMatchObject({ ok: true, entries: 60 })
  })

  it('reports entries that were removed together with a whole file', async () => {
    const path = join(folder(), 'audit.jsonl')
    await written(path, 40, { maxFileBytes: 2_000 })
    unlinkSync(`${path}.3`)
    expect(await verifyAudit(path)).toMatchObject({ problem: { kind: 'removed', file: 'audit.jsonl.4', line: 1 } })
  })

  it('reports a full file that lost its last lines', async () => {
    const path = join(folder(), 'audit.jsonl')
    await written(path, 40, { maxFileBytes: 2_000 })
    changeLines(`${path}.2`, (lines) => lines.splice(-2))
    expect(await verifyAudit(path)).toMatchObject({ problem: { kind: 'removed', file: 'audit.jsonl.3', line: 1 } })
    truncateSync(`${path}.2`, statSync(`${path}.2`).size - 10)
    expect(await verifyAudit(path)).toMatchObject({ problem: { kind: 'removed', file: 'audit.jsonl.3', line: 1 } })
  })

  it('verifies the rest of a log whose old files were moved away, given their last entry', async () => {
    const path = join(folder(), 'audit.jsonl')
    await written(path, 40, { maxFileBytes: 2_000 })
    const { seq, hash } = JSON.parse(linesOf(`${path}.1`).at(-1) ?? '')
    unlinkSync(`${path}.1`)
    expect(await verifyAudit(path)).toMatchObject({ problem: { kind: 'removed', file: 'audit.jsonl.2', line: 1 } })
    expect(await verifyAudit(path, { after: { seq, hash } })).toMatchObject({ ok: true })
  })

  it('continues after a crash between two files', async () => {
    const path = join(folder(), 'audit.jsonl')
    await written(path, 3)
    renameSync(path, `${path}.1`)
    await written(path, 2)
    expect(await verifyAudit(path)).toMatchObject({ ok: true, entries: 5 })
  })

  it('reports a torn last line, and records it in a new file when it is opened again', async () => {
    const path = join(folder(), 'audit.jsonl')
    await written(path, 3)
    appendFileSync(path, '{"seq":5,"time":"20')
    expect(await verifyAudit(path)).toMatchObject({ ok: false, entries: 3, problem: { kind: 'torn', line: 5 } })
    await written(path, 2)
    expect(JSON.parse(linesOf(path)[0] ?? '')).toMatchObject({ details: { torn: { file: 'audit.jsonl', bytes: 19 } } })
    expect(await verifyAudit(path)).toMatchObject({ ok: true, entries: 5, tornLines: 1 })
    appendFileSync(`${path}.1`, 'x')
    expect(await verifyAudit(path)).toMatchObject({ problem: { kind: 'truncated', file: 'audit.jsonl.1', line: 5 } })
  })

  it('continues a log whose very first write was torn', async () => {
    const path = join(folder(), 'audit.jsonl')
    writeFileSync(path, '{"seq":1')
    await written(path, 2)
    expect(await verifyAudit(path)).toMatchObject({ ok: true, entries: 2, tornLines: 1 })
  })

  it('is not continued if its last entry was changed', async () => {
    const path = join(folder(), 'audit.jsonl')
    await written(path, 3)
    changeLines(path, (lines) => lines.splice(-1, 1, (lines.at(-1) ?? '').replace('"number":3', '"number":4')))
    const error = await errorOf(fileAudit(path))
    expect(error.code).toBe('invalid-argument')
    expect(error.message).toContain(`the last entry of "${path}" was changed, or the key is wrong`)
    expect(existsSync(`${path}.lock`)).toBe(false)
  })
})

describe('what verifyAudit finds', () => {
  it('is every flipped bit of an entry, whatever it is part of', async () => {
    const path = join(folder(), 'audit.jsonl')
    await written(path, 3)
    const bytes = readFileSync(path)
    const start = bytes.indexOf('\n', bytes.indexOf('\n') + 1) + 1
    const end = bytes.indexOf('\n', start)
    for (let at = start; at <= end; at++) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8))
      writeFileSync(path, changed)
      const { problem } = await verifyAudit(path)
      expect(['changed', 'truncated'], `byte ${at}`).toContain(problem?.kind)
      expect(problem?.line, `byte ${at}`).toBe(3)
    }
  })

  it('is a removed, a repeated and a moved line', async () => {
    const log = memoryAudit()
    for (let number = 1; number <= 9; number++) log.append(call(number))
    await log.flush()
    const verifyWith = async (change: (lines: string[]) => void) => {
      const lines = [...log.lines]
      change(lines)
      return (await verifyAudit(lines)).problem
    }
    expect(await verifyWith((lines) => lines.splice(4, 1))).toMatchObject({ kind: 'removed', line: 5 })
    expect(await verifyWith((lines) => lines.splice(0, 1))).toMatchObject({ kind: 'removed', line: 1 })
    expect(await verifyWith((lines) => lines.splice(4, 0, ...lines.slice(2, 3)))).toMatchObject({
      kind: 'reordered',
      line: 5,
    })
    expect(await verifyWith((lines) => lines.splice(4, 2, lines[5]!, lines[4]!))).toMatchObject({
      kind: 'reordered',
      line: 5,
    })
    expect(await verifyWith((lines) => lines.push(...lines.splice(4, 1)))).toMatchObject({ kind: 'reordered', line: 5 })
    expect(await verifyWith((lines) => lines.splice(4, 1, lines[4]!.slice(0, 40)))).toMatchObject({
      kind: 'truncated',
      line: 5,
    })
    expect(await verifyWith(() => {})).toBeUndefined()
  })

  it('is an entry that was replaced by one with a valid hash', async () => {
    const log = memoryAudit()
    for (const number of [1, 2, 3]) log.append(call(number))
    await log.flush()
    const lines = [...log.lines]
    const forged = JSON.parse(lines[2] ?? '')
    const body = JSON.stringify({ ...forged, details: { number: 99 }, hash: undefined })
    lines[2] = `${body.slice(0, -1)},"hash":"${await nodeDigest(undefined)(body)}"}`
    expect(await verifyAudit(lines)).toMatchObject({ entries: 1, problem: { kind: 'changed', line: 3 } })
  })

  it('is the removal of the last entries, given a trusted head', async () => {
    const path = join(folder(), 'audit.jsonl')
    const log = await fileAudit(path)
    for (const number of [1, 2, 3]) log.append(call(number))
    await log.close()
    const { head } = log
    changeLines(path, (lines) => lines.splice(-1))
    expect(await verifyAudit(path)).toMatchObject({ ok: true, entries: 2 })
    expect(await verifyAudit(path, { head })).toMatchObject({ entries: 2, problem: { kind: 'removed', line: 3 } })
    await written(path, 4)
    expect(await verifyAudit(path)).toMatchObject({ ok: true })
    expect(await verifyAudit(path, { head })).toMatchObject({ problem: { kind: 'changed', line: 4 } })
    unlinkSync(path)
    writeFileSync(path, '')
    expect(await verifyAudit(path, { head })).toMatchObject({ problem: { kind: 'removed' } })
  })

  it('accepts a trusted head that is older than the last entry', async () => {
    const log = memoryAudit()
    log.append(call(1))
    await log.flush()
    const { head } = log
    log.append(call(2))
    await log.flush()
    expect(await verifyAudit(log.lines, { head })).toMatchObject({ ok: true, entries: 2 })
  })

  it('names a log that does not exist', async () => {
    const path = join(folder(), 'none.jsonl')
    expect((await errorOf(verifyAudit(path))).message).toBe(`Audit log not found: "${path}". Check the path.`)
  })

  it('rejects a log of a later format instead of calling it damaged', async () => {
    const body = '{"seq":1,"time":"2030-01-01T00:00:00.000Z","event":"segment","details":{"version":2},"prev":"0"}'
    const line = `${body.slice(0, -1)},"hash":"${await nodeDigest(undefined)(body)}"}`
    expect((await errorOf(verifyAudit([line]))).message).toContain('version 2, but this program reads version 1')
  })
})

describe('a key', () => {
  const key = 'a secret that the attacker does not have'

  it('keeps an attacker who can write to the file from rebuilding the chain', async () => {
    const path = join(folder(), 'audit.jsonl')
    await written(path, 3, { key })
    expect(await verifyAudit(path, { key })).toMatchObject({ ok: true, entries: 3 })
    const forged = join(folder(), 'forged.jsonl')
    await written(forged, 3)
    expect(await verifyAudit(forged, { key })).toMatchObject({ entries: 0, problem: { kind: 'changed', line: 1 } })
    expect(await verifyAudit(path, { key: 'guessed' })).toMatchObject({ problem: { kind: 'changed', line: 1 } })
  })

  it('is required to verify the log and to continue it', async () => {
    const path = join(folder(), 'audit.jsonl')
    await written(path, 3, { key })
    expect((await errorOf(verifyAudit(path))).message).toContain('was written with a key')
    expect((await errorOf(fileAudit(path))).message).toContain('the key is wrong')
    expect(() => memoryAudit({ key: '' })).toThrow('The key of the audit log is empty')
  })

  it('gives the same hashes on every runtime', async () => {
    const log = memoryAudit({ key })
    log.append({ event: 'tool-call', details: { text: 'ä€𝄞' } })
    await log.flush()
    const path = join(folder(), 'audit.jsonl')
    writeLines(path, log.lines)
    expect(await verifyAudit(path, { key })).toMatchObject({ ok: true, entries: 1 })
    expect(await verifyAudit(log.lines, { key: new TextEncoder().encode(key) })).toMatchObject({ ok: true, entries: 1 })
  })
})

/** A disk that can be full. */
class Disk implements AuditTarget {
  readonly lines: string[] = []
  writes = 0
  isFull = false
  head: AuditTarget['head']

  async append(compose: Parameters<AuditTarget['append']>[0]): Promise<void> {
    this.writes++
    const lines = await compose({ head: this.head, segment: this.head ? undefined : {}, roomBytes: 1e9 })
    if (this.isFull) throw new Error('No space left on device')
    this.lines.push(...lines.map(({ text }) => text))
    this.head = lines.at(-1)
  }

  async close(): Promise<void> {}
}

describe('the buffer of a log', () => {
  it('writes many records at once', async () => {
    const disk = new Disk()
    const log = new BatchedAuditLog(disk, nodeDigest(undefined), {})
    for (let number = 0; number < 500; number++) log.append(call(number))
    expect(disk.writes).toBe(0)
    await log.flush()
    expect(disk.writes).toBe(1)
    expect(disk.lines).toHaveLength(501)
  })

  it('is written without a flush', async () => {
    const log = memoryAudit()
    log.append(call(1))
    await expect.poll(() => log.lines.length, { timeout: 30_000 }).toBe(2)
  })

  it('keeps the records of a failed write in their order, and writes them with the next ones', async () => {
    const disk = new Disk()
    const log = new BatchedAuditLog(disk, nodeDigest(undefined), {})
    disk.isFull = true
    log.append(call(1))
    await expect(log.flush()).rejects.toThrow('No space left')
    log.append(call(2))
    disk.isFull = false
    await log.flush()
    expect(await verifyAudit(disk.lines)).toMatchObject({ ok: true, entries: 2 })
    expect(disk.lines.slice(1).map((line) => JSON.parse(line).details.number)).toEqual([1, 2])
  })

  it('refuses records when too many wait, so that nothing happens unrecorded', async () => {
    const disk = new Disk()
    const log = new BatchedAuditLog(disk, nodeDigest(undefined), { maxPending: 2 })
    disk.isFull = true
    log.append(call(1))
    log.append(call(2))
    expect(() => log.append(call(3))).toThrow(expect.objectContaining({ code: 'overloaded' }))
    await expect(log.flush()).rejects.toThrow('No space left')
    expect(() => log.append(call(3))).toThrow('Cannot record "tool-call" in the audit log: 2 records wait')
    disk.isFull = false
    await log.flush()
    log.append(call(3))
    await log.close()
    expect(await verifyAudit(disk.lines)).toMatchObject({ ok: true, entries: 3 })
  })

  it('reports failed writes that nobody waits for', async () => {
    const errors: unknown[] = []
    const disk = new Disk()
    const log = new BatchedAuditLog(disk, nodeDigest(undefined), { onError: (error) => errors.push(error) })
    disk.isFull = true
    log.append(call(1))
    await expect.poll(() => errors.length, { timeout: 30_000 }).toBe(1)
    await expect(log.close()).rejects.toThrow('No space left')
  })

  it('takes no record after it was closed', async () => {
    const log = memoryAudit()
    await log.close()
    await log.close()
    expect(() => log.append(call(1))).toThrow('Cannot record "tool-call": the audit log is closed.')
  })
})
