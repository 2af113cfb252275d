import { createHash } from 'node:crypto'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Zippable, zipSync } from 'fflate'
import type { BundleFile } from './select-files.ts'

/** A folder with the files of a bundle, which is deleted in the end. */
export class Staging {
  readonly folder = mkdtempSync(join(tmpdir(), 'tenon-pack-'))
  readonly #paths: string[] = []

  constructor(files: readonly BundleFile[]) {
    for (const { path, source } of files) {
      mkdirSync(dirname(join(this.folder, path)), { recursive: true })
      copyFileSync(source, join(this.folder, path))
      chmodSync(join(this.folder, path), isProgram(source) ? 0o755 : 0o644)
      this.#paths.push(path)
    }
  }

  write(path: string, content: string): void {
    writeFileSync(join(this.folder, path), content)
    if (!this.#paths.includes(path)) this.#paths.push(path)
  }

  /** The same files always become the same bytes: fixed times, sorted names, no users. */
  zip(): { readonly bytes: Uint8Array; readonly sha256: string } {
    const entries: Zippable = {}
    for (const path of [...this.#paths].sort()) {
      const source = join(this.folder, path)
      const mode = isProgram(source) ? 0o100755 : 0o100644
      // The time is stored without a zone, so it is made in the local one.
      entries[path] = [readFileSync(source), { mtime: new Date(1980, 0, 1), os: 3, attrs: mode * 0x10000 }]
    }
    const bytes = zipSync(entries, { level: 9 })
    return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') }
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

function isProgram(path: string): boolean {
  return (statSync(path).mode & 0o111) !== 0
}
