import type { Progress } from 'tenon/client'
import { safeLine } from 'tenon/internal'
import { fit } from '../columns.ts'
import type { Output } from '../output.ts'

const frames = ['|', '/', '-', '\\']
const frameMs = 120

/** Calls that are over by then show nothing. */
const firstMs = 400
const barColumns = 20

/** One line on stderr that shows how far a call is. Shows nothing if stderr is not a terminal. */
export class ProgressLine {
  readonly #output: Output
  readonly #label: string
  readonly #isShown = process.stderr.isTTY === true
  readonly #startedAt = performance.now()
  #timer: NodeJS.Timeout | undefined
  #frame = 0
  #isDrawn = false
  #progress: Progress | undefined
  #status: string | undefined

  constructor(label: string, output: Output) {
    this.#label = label
    this.#output = output
    this.resume()
  }

  /** The server reported progress. */
  onProgress(progress: Progress): void {
    this.#progress = progress
  }

  /** Something to show besides progress, such as the status of a task. */
  setStatus(status: string): void {
    this.#status = status
  }

  /** Clears the line, for something else that is printed. */
  pause(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#clear()
  }

  resume(): void {
    if (!this.#isShown || this.#timer) return
    this.#timer = setInterval(() => this.#draw(), frameMs)
    this.#timer.unref()
  }

  /** Prints something above the line. */
  note(...lines: string[]): void {
    this.#clear()
    this.#output.note(...lines)
  }

  #clear(): void {
    if (this.#isDrawn) process.stderr.write('\r\u001b[2K')
    this.#isDrawn = false
  }

  #draw(): void {
    const elapsedMs = performance.now() - this.#startedAt
    if (elapsedMs < firstMs) return
    const frame = frames[this.#frame++ % frames.length] ?? ''
    const { message } = this.#progress ?? {}
    const parts = [
      safeLine(this.#label, 100),
      barOf(this.#progress),
      `${Math.floor(elapsedMs / 1_000)} s`,
      safeLine(message ?? this.#status ?? ''),
    ]
    const line = fit(parts.filter(Boolean).join('  '), this.#output.width - 3)
    process.stderr.write(`\r\u001b[2K${this.#output.notePaint.faint(`${frame} ${line}`)}`)
    this.#isDrawn = true
  }
}

/** `[=====...............] 25 %` if the total is known, otherwise the count. */
export function barOf(progress: Progress | undefined): string {
  if (!progress) return ''
  const { progress: done, total } = progress
  if (total === undefined || !(total > 0) || !Number.isFinite(done)) return String(done)
  const share = Math.min(1, Math.max(0, done / total))
  const filled = Math.round(share * barColumns)
  return `[${'='.repeat(filled)}${'.'.repeat(barColumns - filled)}] ${Math.round(share * 100)} %`
}
