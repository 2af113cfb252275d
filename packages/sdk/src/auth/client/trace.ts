/** One thing that was tried on the way to a token, and what came of it. */
export interface TraceStep {
  readonly step: string
  readonly outcome: 'done' | 'skipped' | 'failed'
  readonly detail: string
}

/** What was tried, in order, so that a failure explains itself. Nothing secret is ever written here. */
export class Trace {
  readonly steps: TraceStep[] = []

  done(step: string, detail: string): void {
    this.#add(step, 'done', detail)
  }

  skipped(step: string, detail: string): void {
    this.#add(step, 'skipped', detail)
  }

  failed(step: string, detail: string): void {
    this.#add(step, 'failed', detail)
  }

  toString(): string {
    return this.steps.map(({ step, outcome, detail }) => `${marks[outcome]} ${step}: ${detail}`).join('\n')
  }

  #add(step: string, outcome: TraceStep['outcome'], detail: string): void {
    // A server decides what much of this says.
    this.steps.push({ step, outcome, detail: detail.replace(/\p{Cc}+/gu, ' ').slice(0, 500) })
    if (this.steps.length > maxSteps) this.steps.shift()
  }
}

const maxSteps = 200
const marks = { done: '+', skipped: '-', failed: '!' } as const
