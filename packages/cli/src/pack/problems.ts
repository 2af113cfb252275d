import { CliError, exitCodes } from '../exit-codes.ts'

/** Collects what is wrong, so that everything is reported at once. */
export class Problems {
  readonly #list: string[] = []

  add(problem: string): void {
    this.#list.push(problem)
  }

  /** Reports a problem unless the condition holds. */
  require(isFine: boolean, problem: string): void {
    if (!isFine) this.add(problem)
  }

  /** Throws if there are any. */
  throwIfAny(what: string, hint?: string): void {
    const [first, ...others] = this.#list
    if (first === undefined) return
    const message = others.length === 0 ? first : this.#list.map((problem) => `\n- ${problem}`).join('')
    throw new CliError('invalid-package', `${what}: ${message}`, { hint, exitCode: exitCodes.checkFailed })
  }
}
