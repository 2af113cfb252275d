/** One step of an authorization, and its outcome. */
export interface TraceStep {
  readonly step: string
  readonly outcome: 'done' | 'skipped' | 'failed'
  readonly detail: string
}

/** The steps of an authorization in order, to explain a failure. It never contains secrets. */
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
    // Parts of it come from servers.
    this.steps.push({ step, outcome, detail: detail.replace(/\p{Cc}+/gu, ' ').slice(0, 500) })
    if (this.steps.length > maxSteps) this.steps.shift()
  }
}

const maxSteps = 200
const marks = { done: '+', skipped: '-', failed: '!' } as const
