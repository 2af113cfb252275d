import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyAudit } from '../../src/host/audit/verify.ts'
import { fileAudit } from '../../src/host/node/audit-file.ts'

describe('a log of 100,000 entries', () => {
  const entries = 100_000
  let folder = ''
  let original = ''

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'audit-'))
    original = join(folder, 'audit.jsonl')
    await using log = await fileAudit(original)
    for (let number = 1; number <= entries; number++) {
      log.append({
        event: 'tool-call',
        server: 'files',
        details: { number, tool: 'read', arguments: { path: 'a.txt' } },
      })
      if (number % 5_000 === 0) await log.flush()
    }
  })

  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  function changed(change: (lines: string[]) => void): string {
    const path = join(folder, 'changed.jsonl')
    const lines = readFileSync(original, 'utf8').split('\n')
    change(lines)
    writeFileSync(path, lines.join('\n'))
    return path
  }

  it('is verified', async () => {
    expect(await verifyAudit(original)).toMatchObject({ ok: true, entries, head: { seq: entries + 1 } })
  })

  it('with one flipped byte is reported at the line of the byte', async () => {
    const path = join(folder, 'flipped.jsonl')
    copyFileSync(original, path)
    const bytes = readFileSync(path)
    const at = bytes.indexOf('"number":70000,') + 10
    bytes[at] = (bytes[at] ?? 0) ^ 1
    writeFileSync(path, bytes)
    expect(await verifyAudit(path)).toMatchObject({
      ok: false,
      entries: 69_999,
      problem: { kind: 'changed', file: 'flipped.jsonl', line: 70_001 },
    })
  })

  it('with one removed line is reported at the line after it', async () => {
    const path = changed((lines) => lines.splice(70_000, 1))
    expect(await verifyAudit(path)).toMatchObject({ entries: 69_999, problem: { kind: 'removed', line: 70_001 } })
  })

  it('with two swapped lines is reported at the first of them', async () => {
    const path = changed((lines) => lines.splice(70_000, 2, lines[70_001] ?? '', lines[70_000] ?? ''))
    expect(await verifyAudit(path)).toMatchObject({ entries: 69_999, problem: { kind: 'reordered', line: 70_001 } })
  })
})
