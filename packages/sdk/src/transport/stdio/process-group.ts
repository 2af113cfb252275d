import type { ChildProcess } from 'node:child_process'
import { scheduler, type Timer } from '../../util/scheduler.ts'

const live = new Set<ChildProcess>()

const deadlySignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Makes sure that the child ends with us, unless we are ended by SIGKILL; then its stdin ends, which it should heed. */
export function watchGroup(child: ChildProcess): void {
  if (live.size === 0) {
    process.on('exit', killAll)
    for (const signal of deadlySignals) process.on(signal, dieWithGroups)
  }
  live.add(child)
}

/** Who dies of a signal emits no `exit`. Whoever handles the signal otherwise decides for himself. */
function dieWithGroups(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return
  killAll()
  process.off(signal, dieWithGroups)
  process.kill(process.pid, signal)
}

/** Those that a server leaves behind get this long to end by themselves. */
const restMs = 100

/** Waits for the end after stdin was closed; then asks the whole group, then insists. */
export async function endProcess(child: ChildProcess, ended: Promise<void>, graceMs: number): Promise<void> {
  if (await within(ended, graceMs)) return
  killGroup(child, 'SIGTERM')
  if (await within(ended, graceMs)) return
  killGroup(child, 'SIGKILL')
  await ended
}

/** The server has ended, perhaps without those that it started: leaves nobody of the group behind. */
export async function endRest(child: ChildProcess): Promise<void> {
  if (killGroup(child, 'SIGTERM')) {
    await new Promise((resolve) => scheduler.setTimeout(resolve, restMs))
    killGroup(child, 'SIGKILL')
  }
  release(child)
}

/** False when there is nobody left. */
function killGroup(child: ChildProcess, signal: NodeJS.Signals): boolean {
  if (child.pid === undefined) return false
  try {
    // A negative id names the group; Windows has none, and its process is ended alone.
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
