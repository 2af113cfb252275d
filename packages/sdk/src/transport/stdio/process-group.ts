import type { ChildProcess } from 'node:child_process'
import { scheduler, type Timer } from '../../util/scheduler.ts'

const live = new Set<ChildProcess>()

const deadlySignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Ends the child when this process exits. After a SIGKILL of this process the child only sees the end of its stdin. */
export function watchGroup(child: ChildProcess): void {
  if (live.size === 0) {
    process.on('exit', killAll)
    for (const signal of deadlySignals) process.on(signal, dieWithGroups)
  }
  live.add(child)
}

/** A process that a signal ends emits no `exit`. If the program handles the signal itself, it decides what happens. */
function dieWithGroups(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return
  killAll()
  process.off(signal, dieWithGroups)
  process.kill(process.pid, signal)
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
  live.delete(child)
  if (live.size > 0) return
  process.off('exit', killAll)
  for (const signal of deadlySignals) process.off(signal, dieWithGroups)
}

function killAll(): void {
  for (const child of live) killGroup(child, 'SIGKILL')
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
