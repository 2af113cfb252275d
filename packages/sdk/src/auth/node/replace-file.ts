import { scheduler } from '../../util/scheduler.ts'

/**
 * Replaces a file, so that readers see the old text or the new one. Call it with the lock of the file held. `wx` never writes
 * through a link that another user may have placed.
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  const { open, rm } = process.getBuiltinModule('node:fs/promises')
  const fresh = `${path}.new`
  await rm(fresh, { force: true })
  const file = await open(fresh, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(fresh, path)
  await syncFolder(path)
}

/** On Windows a file cannot be replaced while another process reads it, so this retries for a moment. */
async function rename(from: string, to: string): Promise<void> {
  const { rename } = process.getBuiltinModule('node:fs/promises')
  for (let left = process.platform === 'win32' ? 20 : 0; ; left--) {
    try {
      return await rename(from, to)
    } catch (error) {
      if (left === 0) throw error
      await new Promise((resolve) => scheduler.setTimeout(resolve, 10))
    }
  }
}

/** Makes the new name survive a power failure, where the system supports it. */
async function syncFolder(path: string): Promise<void> {
  const { open } = process.getBuiltinModule('node:fs/promises')
  const { dirname } = process.getBuiltinModule('node:path')
  try {
    const folder = await open(dirname(path), 'r')
    await folder.sync().finally(() => folder.close())
  } catch {
    // Not supported everywhere.
  }
}
