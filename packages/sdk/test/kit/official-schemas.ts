import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** Set if the messages of this test could not be checked. */
    withoutSchemas?: boolean
  }
}

/** The folder with the official `<revision>.json` schemas, if they are on this machine. */
export const schemas = findSchemas()

// scripts/schema-reporter.ts counts these tests.
if (schemas === undefined) {
  beforeEach(({ task }) => {
    task.meta.withoutSchemas = true
  })
}

/** Looks in `TENON_SCHEMAS`, beside the repository, and in the cache of scripts/official-schemas.js. */
function findSchemas(): string | undefined {
  const fetched = fileURLToPath(new URL('../../../../node_modules/.cache/official-schemas', import.meta.url))
  const beside = fileURLToPath(new URL('../../../../../shared/spec/schema', import.meta.url))
  const versions = existsSync(fetched) ? readdirSync(fetched).sort() : []
  const folders = [process.env.TENON_SCHEMAS, beside, ...versions.map((version) => join(fetched, version)).reverse()]
  return folders.find((folder) => folder && existsSync(join(folder, '2026-07-28.json')))
}
