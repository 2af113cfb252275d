import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Root } from '../../protocol/roots.ts'
import { scheduler } from '../../util/scheduler.ts'
import type { RootAccess } from '../roots.ts'

/** Options of `watchRoots`. */
export interface WatchRootsOptions {
  /** How often to check. Default 5,000. */
  intervalMs?: number | undefined
}

/** Watches the accessibility of roots. */
export interface RootWatcher {
  /** The newest known state of each root. */
  readonly access: readonly RootAccess[]
  /** Checks now instead of at the next interval. */
  check(): Promise<readonly RootAccess[]>
  /** Stops watching. */
  close(): void
}

/**
 * Watches whether roots exist and can be read, and reports when that changes: then tell the servers that the list of roots
 * changed. It checks at intervals, because file system events report neither changed permissions nor unmounted disks. Does not
 * keep the process running.
 *
 * @param onChange Receives the state of all roots.
 */
export async function watchRoots(
  roots: readonly Root[],
  onChange: (access: readonly RootAccess[]) => void,
  options: WatchRootsOptions = {},
): Promise<RootWatcher> {
  let current: readonly RootAccess[] = await readRootAccess(roots)
  let isClosed = false
  let running: Promise<void> | undefined
  const look = async () => {
    const next = await readRootAccess(roots)
    const isChanged = next.some(({ reason }, index) => reason !== current[index]?.reason)
    current = next
    if (isChanged && !isClosed) onChange(next)
  }
  // A slow network disk must not make checks pile up.
  const check = () => {
    running ??= look().finally(() => {
      running = undefined
    })
    return running
  }
  const timer = scheduler.setInterval(() => void check(), options.intervalMs ?? 5_000)
  scheduler.unref(timer)
  return {
    get access() {
      return current
    },
    check: async () => {
      await check()
      return current
    },
    close: () => {
      isClosed = true
      scheduler.clearInterval(timer)
    },
  }
}

/** Checks the files and folders of roots. */
export function readRootAccess(roots: readonly Root[]): Promise<RootAccess[]> {
  return Promise.all(
    roots.map(async (root) => {
      const reason = await accessProblem(root.uri)
      return { root, isAccessible: reason === undefined, reason }
    }),
  )
}

/** Returns why the file or folder of a `file:` URI cannot be read; undefined if it can. */
async function accessProblem(uri: string): Promise<string | undefined> {
  try {
    await access(fileURLToPath(uri), constants.R_OK)
    return undefined
  } catch (error) {
    return reasons.get((error as NodeJS.ErrnoException).code) ?? 'cannot be read'
  }
}

const reasons = new Map<string | undefined, string>([
  ['ENOENT', 'does not exist'],
  ['ENOTDIR', 'does not exist'],
  ['EACCES', 'cannot be read: permission denied'],
  ['EPERM', 'cannot be read: permission denied'],
])
