import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { safeLine } from 'tenon/internal'
import type { Output } from '../output.ts'

/** The absolute paths of folders as the user writes them: `~` is the home directory, which no shell replaces in a chat. */
export function resolveFolders(folders: readonly string[]): string[] {
  return folders.map((folder) => resolve(folder.replace(/^~(?=$|[\\/])/, () => homedir())))
}

/** Says which folders do not exist. Servers get them as soon as they do. */
export function noteMissing(folders: readonly string[], output: Output): void {
  for (const folder of folders.filter((each) => !existsSync(each)))
    output.note(safeLine(`This folder does not exist, so servers do not get it: ${folder}`, 1_000))
}
