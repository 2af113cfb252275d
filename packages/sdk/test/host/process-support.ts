import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { Client } from '../../src/client/client.ts'

/** The path of a server in `fixtures`. */
export function fixture(name: string): string {
  return fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url))
}

/** A folder that is removed after the test. */
export async function createFolder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'tenon-host-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}

/** A file to which processes append lines. It is removed after the test. */
export async function createLog() {
  const path = join(await createFolder(), 'log')
  return {
    path,
    lines: async () => (await readFile(path, 'utf8')).trim().split('\n'),
  }
}

/** Calls the tool `pid`, which returns the id of the process. */
export async function pidOf(client: Client, server: string): Promise<number> {
  return Number((await client.callTool(`${server}_pid`)).text)
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
