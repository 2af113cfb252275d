import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { constants, copyFile, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { CliError } from '../exit-codes.ts'
import type { ConfigText } from './edit-config.ts'

/** Reads a config file. A file that does not exist is empty. */
export function readConfigText(path: string): ConfigText {
  try {
    return { path, text: existsSync(path) ? readFileSync(path, 'utf8') : '' }
  } catch (cause) {
    throw unwritable(`Cannot read ${path}`, cause)
  }
}

/**
 * Replaces a config file at once, so that the host never reads half a file. A symbolic link stays one.
 * @returns The path of the backup; undefined if there was no file.
 */
export async function writeConfigText({ path, text: before }: ConfigText, text: string): Promise<string | undefined> {
  if (readConfigText(path).text !== before) {
    throw new CliError('changed', `${path} was changed by another program in the meantime.`, {
      hint: 'Nothing was written. Run the command again.',
    })
  }
  try {
    await mkdir(dirname(path), { recursive: true })
    const target = existsSync(path) ? realpathSync(path) : path
    const backup = existsSync(path) ? await backUp(target) : undefined
    await replace(target, text)
    return backup
  } catch (cause) {
    throw unwritable(`Cannot write ${path}`, cause)
  }
}

/** Copies the file next to itself, with the time in the name, so that no earlier backup is lost. */
async function backUp(path: string): Promise<string> {
  const time = new Date()
    .toISOString()
    .replace(/\.\d+Z$/, '')
    .replace(/[:]/g, '-')
  for (let attempt = 0; ; attempt++) {
    const backup = `${path}.${time}${attempt === 0 ? '' : `-${attempt}`}.bak`
    try {
      await copyFile(path, backup, constants.COPYFILE_EXCL)
      return backup
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || attempt > 100) throw error
    }
  }
}

async function replace(path: string, text: string): Promise<void> {
  // Config files contain keys of other programs, so a new one is readable by its user only.
  const mode = existsSync(path) ? statSync(path).mode : 0o600
  const fresh = `${path}.${process.pid}.tmp`
  const file = await open(fresh, 'wx', mode)
  try {
    await file.chmod(mode)
    await file.writeFile(text)
    await file.sync()
    await file.close()
    await rename(fresh, path)
  } catch (error) {
    await file.close().catch(() => {})
    await rm(fresh, { force: true })
    throw error
  }
}

function unwritable(what: string, cause: unknown): CliError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new CliError('file', `${what}: ${reason}`, {
    cause,
    hint: 'Check the permissions of the file and its folder.',
  })
}
