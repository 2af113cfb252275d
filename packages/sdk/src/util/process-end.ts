/** A part of the program that must not be cut off when a signal ends the process. */
export interface EndingPart {
  /** Finishes what is running. Undefined: the process ends without a signal. */
  drain(signal: NodeJS.Signals | undefined): Promise<unknown>
  /** Releases what other parts may use while they drain. Called when all of them have. */
  close?(): Promise<unknown>
}

const parts = new Set<EndingPart>()
const cleanups = new Set<() => void>()
const gracefulSignals = ['SIGTERM', 'SIGINT'] as const
const deadlySignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
let ending: Promise<void> | undefined

/**
 * Ends the process on SIGTERM and SIGINT, after this part and all others are done. A second signal of the same kind ends it at
 * once.
 *
 * @returns A function that removes the part.
 */
export function endOnSignal(part: EndingPart): () => void {
  if (parts.size === 0 && !ending) for (const signal of gracefulSignals) process.on(signal, endGracefully)
  parts.add(part)
  return () => {
    if (parts.delete(part) && parts.size === 0 && !ending)
      for (const signal of gracefulSignals) process.off(signal, endGracefully)
  }
}

/** Ends the process when all parts are done. None of them exits by itself, because that would cut off the others. */
export function endProcess(signal?: NodeJS.Signals): Promise<void> {
  ending ??= drainAll(signal).then(() => process.exit())
  return ending
}

async function drainAll(signal: NodeJS.Signals | undefined): Promise<void> {
  const all = [...parts]
  await Promise.allSettled(all.map(async (part) => part.drain(signal)))
  await Promise.allSettled(all.map(async (part) => part.close?.()))
}

function endGracefully(signal: NodeJS.Signals): void {
  process.off(signal, endGracefully)
  void endProcess(signal)
}

/**
 * Runs a cleanup when the process ends for any reason but SIGKILL. It does not keep a signal from ending the process, and does
 * not end one that handles the signal.
 *
 * @returns A function that removes the cleanup.
 */
export function cleanUpAtEnd(cleanUp: () => void): () => void {
  if (cleanups.size === 0) {
    process.on('exit', cleanUpAll)
    // First, so that it sees handlers for one signal: they are removed before they are called.
    for (const signal of deadlySignals) process.prependListener(signal, dieOfSignal)
  }
  cleanups.add(cleanUp)
  return () => {
    if (!cleanups.delete(cleanUp) || cleanups.size > 0) return
    process.off('exit', cleanUpAll)
    for (const signal of deadlySignals) process.off(signal, dieOfSignal)
  }
}

function cleanUpAll(): void {
  for (const cleanUp of cleanups) cleanUp()
}

/** Marks listeners that leave the decision to others. A program may have loaded this module twice. */
const isPassive = Symbol.for('tenon.passive-signal-listener')

/** A process that a signal ends emits no `exit`. If the program handles the signal, it decides what happens. */
function dieOfSignal(signal: NodeJS.Signals): void {
  if (process.listeners(signal).some((listener) => !(isPassive in listener))) return
  cleanUpAll()
  process.off(signal, dieOfSignal)
  process.kill(process.pid, signal)
}
Object.assign(dieOfSignal, { [isPassive]: true })
