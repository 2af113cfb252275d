import type { ChildProcess } from 'node:child_process'
import { cleanUpAtEnd } from '../../util/process-end.ts'
import { scheduler, type Timer } from '../../util/scheduler.ts'
import { watchdog } from './watchdog.ts'

/** Removes the cleanup of each running child. */
const live = new Map<ChildProcess, () => void>()

/** Ends the child and its own children when this process ends, for any reason. */
export function watchGroup(child: ChildProcess): void {
  if (child.pid !== undefined) watchdog.add(child.pid)
  live.set(
    child,
    cleanUpAtEnd(() => killGroup(child, 'SIGKILL')),
  )
}

/** How long the remaining processes of a group have to exit by themselves. */
const restMs = 100

/** Waits for the exit after stdin was closed, then sends SIGTERM and SIGKILL to the whole group. */
export async function endProcess(child: ChildProcess, ended: Promise<void>, graceMs: number): Promise<void> {
  if (await within(ended, graceMs)) return
  killGroup(child, 'SIGTERM')
  if (await within(ended, graceMs)) return
  killGroup(child, 'SIGKILL')
  await ended
}

/** Ends the processes that a server left behind when it exited. */
export async function endRest(child: ChildProcess): Promise<void> {
  if (killGroup(child, 'SIGTERM')) {
    await new Promise((resolve) => scheduler.setTimeout(resolve, restMs))
    killGroup(child, 'SIGKILL')
  }
  release(child)
}

/** Returns false if no process is left. */
function killGroup(child: ChildProcess, signal: NodeJS.Signals): boolean {
  if (child.pid === undefined) return false
  try {
    // A negative id names the group. Windows has no groups, so only the process itself is ended.
    return process.platform === 'win32' ? child.kill(signal) : process.kill(-child.pid, signal)
  } catch {
    return false
  }
}

function release(child: ChildProcess): void {
  if (child.pid !== undefined) watchdog.remove(child.pid)
  live.get(child)?.()
  live.delete(child)
}

async function within(promise: Promise<void>, ms: number): Promise<boolean> {
  let timer: Timer | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = scheduler.setTimeout(() => resolve(false), ms)
  })
  const inTime = await Promise.race([promise.then(() => true), late])
  scheduler.clearTimeout(timer)
  return inTime
}
