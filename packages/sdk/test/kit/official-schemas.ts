import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { RevisionId } from 'tenon'
import { getCurrentTest } from 'vitest/suite'
import { OfficialSchema } from '../../src/testing/official-schemas.ts'

declare module 'vitest' {
  interface TaskMeta {
    /** Set if the messages of this test could not be checked. */
    withoutSchemas?: boolean
  }
}

/** The folder with the official `<revision>.json` schemas, if they are on this machine. */
export const schemas = findSchemas()

/** The official schema of a revision. If the schemas are not on this machine, the running test is one without them. */
export function officialSchema(revision: RevisionId): OfficialSchema | undefined {
  if (schemas !== undefined) return OfficialSchema.load(schemas, revision)
  noteMissingSchemas()
  return undefined
}

/** Marks the running test, if the schemas are not on this machine. scripts/schema-reporter.ts counts these tests. */
export function noteMissingSchemas(): void {
  const test = getCurrentTest()
  if (schemas === undefined && test) test.meta.withoutSchemas = true
}

/** Looks in `TENON_SCHEMAS`, beside the repository, and in the cache of scripts/official-schemas.js. */
function findSchemas(): string | undefined {
  const fetched = fileURLToPath(new URL('../../../../node_modules/.cache/official-schemas', import.meta.url))
  const beside = fileURLToPath(new URL('../../../../../shared/spec/schema', import.meta.url))
  const versions = existsSync(fetched) ? readdirSync(fetched).sort() : []
  const folders = [process.env.TENON_SCHEMAS, beside, ...versions.map((version) => join(fetched, version)).reverse()]
  return folders.find((folder) => folder && existsSync(join(folder, '2026-07-28.json')))
}
