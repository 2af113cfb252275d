import type { ChildProcess } from 'node:child_process'
import { type Output, quote } from './output.ts'
import { seenOutput } from './seen-output.ts'

/** More than a person reads. A server that floods its stderr must not flood the terminal. */
const maxLines = 200
const maxLineChars = 1_000

/**
 * Shows what a server writes to stderr: everything after it has started, and before that only what looks like a warning, because
 * many servers greet. If it cannot start, the error quotes its stderr.
 */
export class ServerOutput {
  readonly #output: Output
  readonly #note: (...lines: string[]) => void
  /** Lines from before the server was connected. */
  #early: string[] | undefined = []
  #rest = ''
  #count = 0

  /** @param note Prints lines on stderr, above a progress line if there is one. */
  constructor(output: Output, note: (...lines: string[]) => void = output.note) {
    this.#output = output
    this.#note = note
  }

  /** A part of the server's stderr. */
  readonly push = (text: string): void => {
    const lines = (this.#rest + text).split(/\r?\n/)
    this.#rest = (lines.pop() ?? '').slice(0, maxLineChars)
    for (const line of lines) this.#add(line)
  }

  /** The server is connected, and this is its process. */
  connected(child: ChildProcess | undefined): void {
    const early = this.#early ?? []
    this.#early = undefined
    for (const line of early.filter(isWarning)) this.#show(line)
    child?.once('exit', (code, signal) => this.#exited(code, signal))
  }

  #add(line: string): void {
    if (line.trim() === '') return
    if (!this.#early) return this.#show(line)
    if (this.#early.length < maxLines) this.#early.push(line)
  }

  #show(line: string): void {
    if (++this.#count > maxLines + 1) return
    seenOutput.hasShown = true
    const text = this.#count > maxLines ? '(the server wrote more to stderr, which is not shown)' : line
    this.#note(...quote(text, this.#output.width, this.#output.notePaint, maxLineChars))
  }

  #exited(code: number | null, signal: string | null): void {
    if (this.#rest !== '') this.#add(this.#rest)
    this.#rest = ''
    // These are how we end a server that does not exit when its stdin closes.
    if (code === 0 || (code !== null && ownCodes.has(code)) || signal === 'SIGTERM' || signal === 'SIGKILL') return
    seenOutput.crashes.push(
      `The server crashed: it exited with ${signal === null ? `code ${code}` : `signal ${signal}`}.`,
    )
  }
}

/** 128 and the number of SIGTERM or SIGKILL. */
const ownCodes: ReadonlySet<number> = new Set([143, 137])

function isWarning(line: string): boolean {
  return /\b(?:warn(?:ing)?|error|fatal|panic|deprecated|exception|traceback)\b|\[tenon\]/i.test(line)
}
