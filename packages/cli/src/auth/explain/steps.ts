/** `failed`: logging in cannot work. `warning`: some clients may fail. `info`: not required. */
export type StepOutcome = 'ok' | 'info' | 'warning' | 'failed'

/** An HTTP exchange that a step made. */
export interface StepRequest {
  readonly method: string
  readonly url: string
  /** Null if there was no response. */
  readonly status: number | null
  readonly durationMs: number
}

/** One step of discovery or login: what was expected and what was found. Contains no secrets. */
export interface ExplainStep {
  readonly title: string
  readonly outcome: StepOutcome
  readonly expected: string
  readonly found: string
  /** How to repair it. */
  readonly advice?: string | undefined
  readonly request?: StepRequest | undefined
}

/** The outcome of all steps. */
export interface Explanation {
  readonly url: string
  readonly verdict: 'ok' | 'no-authorization' | 'warnings' | 'broken'
  /** The verdict in one or two sentences. */
  readonly summary: string
  readonly steps: readonly ExplainStep[]
}

/** Collects steps, and reports each as it is known. */
export class StepList {
  readonly steps: ExplainStep[] = []
  readonly #onStep: (step: ExplainStep) => void

  constructor(onStep: (step: ExplainStep) => void) {
    this.#onStep = onStep
  }

  add(step: ExplainStep): void {
    this.steps.push(step)
    this.#onStep(step)
  }

  /** Adds a step for each rule that does not hold, or one step if all hold. */
  addChecks(title: string, ok: string, checks: readonly Check[], request?: StepRequest): void {
    const broken = checks.filter(({ holds }) => !holds)
    for (const { outcome, expected, found, advice } of broken) {
      this.add({ title, outcome, expected, found, advice, request })
    }
    if (broken.every(({ outcome }) => outcome === 'info')) {
      this.add({ title, outcome: 'ok', expected: 'Every required member, with a valid value', found: ok, request })
    }
  }

  get hasFailed(): boolean {
    return this.steps.some(({ outcome }) => outcome === 'failed')
  }
}

/** A rule about a document. */
export interface Check {
  readonly holds: boolean
  readonly outcome: Exclude<StepOutcome, 'ok'>
  readonly expected: string
  readonly found: string
  readonly advice?: string | undefined
}
