import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteStore } from 'tenon/stores/sqlite'
import { expect, it } from 'vitest'
import { killEverywhere, lanes, options, title } from './kill-harness.ts'

it(`${title} (SQLite)`, options, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tenon-kill-sqlite-'))
  const files = Array.from({ length: lanes }, (_, lane) => join(folder, `${lane}.db`))
  const stores = files.map((file) => sqliteStore(file))
  const problems = await killEverywhere((lane) => ({ args: [files[lane]!], store: stores[lane]!.tasks }))
  for (const store of stores) await store.close()
  rmSync(folder, { recursive: true, force: true })
  expect(problems).toEqual([])
})
