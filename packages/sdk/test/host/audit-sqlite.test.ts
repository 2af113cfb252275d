import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { AuditRecord } from '../../src/host/audit/audit.ts'
import { type SqliteAuditOptions, sqliteAudit, sqliteAuditLines } from '../../src/host/audit/sqlite.ts'
import { verifyAudit } from '../../src/host/audit/verify.ts'
import { openDatabase } from '../../src/store/sqlite/database.ts'
import { errorOf } from '../kit/error-of.ts'

function newPath(): string {
  const path = mkdtempSync(join(tmpdir(), 'audit-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return join(path, 'audit.db')
}

const call = (number: number): AuditRecord => ({ event: 'tool-call', server: 'files', details: { number } })

async function written(path: string, entries: number, options: SqliteAuditOptions = {}): Promise<void> {
  await using log = await sqliteAudit(path, options)
  for (let number = 1; number <= entries; number++) log.append(call(number))
}

/** Changes the file as an attacker would, who is not stopped by triggers. */
function attack(path: string, sql: string): void {
  const database = openDatabase(path)
  database.exec('DROP TRIGGER audit_entry_update; DROP TRIGGER audit_entry_delete')
  database.exec(sql)
  database.close()
}

const problemOf = async (path: string) => (await verifyAudit(sqliteAuditLines(path))).problem

describe('a log in SQLite', () => {
  it('keeps the chain over several openings, in a file for its owner only', async () => {
    const path = newPath()
    await written(path, 1_500)
    await written(path, 1_500, { survivesPowerLoss: true })
    expect(await verifyAudit(sqliteAuditLines(path))).toMatchObject({ ok: true, entries: 3_000, head: { seq: 3_001 } })
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it('joins the entries of two writers to one chain', async () => {
    const path = newPath()
    const [a, b] = await Promise.all([sqliteAudit(path), sqliteAudit(path)])
    for (let round = 0; round < 20; round++) {
      a.append(call(round))
      b.append(call(round))
      await Promise.all([a.flush(), b.flush()])
    }
    await a.close()
    await b.close()
    expect(await verifyAudit(sqliteAuditLines(path))).toMatchObject({ ok: true, entries: 40 })
  })

  it('writes a batch again after it could not be written', async () => {
    const path = newPath()
    await using log = await sqliteAudit(path)
    const database = openDatabase(path)
    onTestFinished(() => database.close())
    database.exec("CREATE TRIGGER full BEFORE INSERT ON audit_entry BEGIN SELECT RAISE(ABORT, 'disk full'); END")
    log.append(call(1))
    await expect(log.flush()).rejects.toThrow('disk full')
    database.exec('DROP TRIGGER full')
    log.append(call(2))
    await log.flush()
    expect(await verifyAudit(sqliteAuditLines(path))).toMatchObject({ ok: true, entries: 2 })
  })

  it('reports a changed, a removed and two swapped entries', async () => {
    const changed = newPath()
    await written(changed, 50)
    attack(changed, `UPDATE audit_entry SET line = replace(line, '"number":30', '"number":31') WHERE position = 31`)
    expect(await problemOf(changed)).toMatchObject({ kind: 'changed', line: 31 })

    const removed = newPath()
    await written(removed, 50)
    attack(removed, 'DELETE FROM audit_entry WHERE position = 31')
    expect(await problemOf(removed)).toMatchObject({ kind: 'removed', line: 31 })

    const swapped = newPath()
    await written(swapped, 50)
    attack(swapped, 'UPDATE audit_entry SET position = -position WHERE position IN (31, 32)')
    attackAgain(swapped, 'UPDATE audit_entry SET position = 63 + position WHERE position < 0')
    expect(await problemOf(swapped)).toMatchObject({ kind: 'reordered', line: 31 })
  })

  it('detects removed last entries by a trusted head, and forged ones by a key', async () => {
    const path = newPath()
    const log = await sqliteAudit(path, { key: 'secret' })
    for (const number of [1, 2, 3]) log.append(call(number))
    await log.close()
    const { head } = log
    expect(await verifyAudit(sqliteAuditLines(path), { key: 'secret', head })).toMatchObject({ ok: true, entries: 3 })
    expect(await verifyAudit(sqliteAuditLines(path), { key: 'other' })).toMatchObject({ problem: { kind: 'changed' } })
    attack(path, 'DELETE FROM audit_entry WHERE position = 4')
    expect(await verifyAudit(sqliteAuditLines(path), { key: 'secret', head })).toMatchObject({
      entries: 2,
      problem: { kind: 'removed' },
    })
  })

  it('refuses updates and deletions by accident', async () => {
    const path = newPath()
    await written(path, 2)
    const database = openDatabase(path)
    expect(() => database.exec('DELETE FROM audit_entry')).toThrow('append-only')
    expect(() => database.exec("UPDATE audit_entry SET line = ''")).toThrow('append-only')
    database.close()
  })

  it('is not continued with another key, or after its last entry was changed', async () => {
    const path = newPath()
    await written(path, 2)
    expect(await errorOf(sqliteAudit(path, { key: 'other' }))).toMatchObject({
      code: 'invalid-argument',
      message: expect.stringContaining(`Cannot continue the audit log "${path}"`),
    })
    attack(path, 'UPDATE audit_entry SET line = replace(line, \'"number":2\', \'"number":7\')')
    expect((await errorOf(sqliteAudit(path))).message).toContain('its last entry was changed')
  })
})

function attackAgain(path: string, sql: string): void {
  const database = openDatabase(path)
  database.exec(sql)
  database.close()
}
