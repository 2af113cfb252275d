import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A folder that is removed after the test. */
export function folder(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'sandbox-')))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Sets an environment variable of this process until the test ends. */
export function setVariable(name: string, value: string | undefined): void {
  const before = process.env[name]
  const set = (text: string | undefined) => {
    if (text === undefined) delete process.env[name]
    else process.env[name] = text
  }
  set(value)
  onTestFinished(() => set(before))
}
