import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'

export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** A Node process whose output is collected. It is killed when it is disposed. */
export class NodeProcess {
  readonly child: ChildProcess
  /** Resolves when the process has exited and its output is complete. */
  readonly exited: Promise<Exit>
  stdout = ''
  stderr = ''
  readonly #watchers = new Set<() => void>()

  /** @param args The arguments of `node`: a program, or options such as `-e`. */
  constructor(args: readonly string[], options: Pick<SpawnOptions, 'cwd' | 'env'> = {}) {
    this.child = spawn(process.execPath, args, { ...options, stdio: 'pipe' })
    this.exited = new Promise((resolve) => this.child.once('close', (code, signal) => resolve({ code, signal })))
    this.child.stdin?.on('error', () => {})
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text
      this.#look()
    })
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
      this.#look()
    })
  }

  write(bytes: string | Uint8Array): void {
    this.child.stdin?.write(bytes)
  }

  /** Waits until `look` finds something in the output. */
  until<T>(look: () => T | undefined | false | null): Promise<T> {
    return new Promise((resolve) => {
      const watcher = () => {
        const found = look()
        if (found === undefined || found === null || found === false) return
        this.#watchers.delete(watcher)
        resolve(found)
      }
      this.#watchers.add(watcher)
      watcher()
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.stdin?.end()
    this.child.kill('SIGKILL')
    await this.exited
  }

  #look(): void {
    for (const watcher of [...this.#watchers]) watcher()
  }
}

/** Runs a Node program to its end and returns its standard output. Rejects if the exit code is not 0. */
export async function runNode(args: readonly string[], options: { timeout?: number } = {}): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, args, options)
  return stdout
}

/** Waits for a child process to exit. */
export async function exited(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  const [code] = await once(child, 'exit')
  return code
}

/** Kills a child process so that none of its handlers run, and waits for its end. */
export async function killed(child: ChildProcess): Promise<void> {
  const exit = exited(child)
  child.kill('SIGKILL')
  await exit
}

/** Returns whether a process exists. A zombie, which exited but was not reaped yet, does not count. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return process.platform !== 'linux'
  }
}
