import { existsSync, readdirSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { usageError } from '../exit-codes.ts'

/** Writes the files of a new project. Nothing is overwritten. */
export async function writeProject(folder: string, files: ReadonlyMap<string, string>): Promise<void> {
  for (const [path, content] of files) {
    const target = join(folder, path)
    await mkdir(dirname(target), { recursive: true })
    await writeFile(target, content, { flag: 'wx' })
  }
}

/** Whether a project can be created in a folder without mixing it with something else. */
export function isEmptyFolder(folder: string): boolean {
  return !existsSync(folder) || readdirSync(folder).every((name) => harmless.has(name))
}

/** Throws if the folder has files. */
export function checkEmpty(folder: string): void {
  if (isEmptyFolder(folder)) return
  throw usageError(`The folder is not empty: ${folder}`, 'Choose another one: tenon init <folder>')
}

/** What an empty repository or folder may have. */
const harmless = new Set(['.git', '.DS_Store', '.idea', '.vscode', 'Thumbs.db'])
