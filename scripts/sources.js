import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** The TypeScript files in a folder and below, without tests. */
export function* sources(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* sources(path)
    else if (entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts')) yield path
  }
}
