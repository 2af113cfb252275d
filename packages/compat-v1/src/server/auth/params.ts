import { InvalidRequestError } from './errors.ts'

/** The parameters of a request, from its query or its form. */
export class Params {
  private readonly _values: Readonly<Record<string, unknown>>

  constructor(values: unknown) {
    this._values = typeof values === 'object' && values !== null ? (values as Record<string, unknown>) : {}
  }

  /** Throws `InvalidRequestError` if the parameter is there, but not once. */
  optional(name: string): string | undefined {
    const value = Object.hasOwn(this._values, name) ? this._values[name] : undefined
    if (value === undefined || typeof value === 'string') return value
    throw new InvalidRequestError(`${name} must be a string`)
  }

  /** Throws `InvalidRequestError` if the parameter is missing. */
  required(name: string): string {
    const value = this.optional(name)
    if (value === undefined) throw new InvalidRequestError(`${name} is required`)
    return value
  }

  /** Throws `InvalidRequestError` if the parameter is not this value. */
  literal(name: string, expected: string): void {
    if (this.required(name) !== expected) throw new InvalidRequestError(`${name} must be ${expected}`)
  }

  /** Throws `InvalidRequestError` if the parameter is not a URL. */
  url(name: string): URL | undefined {
    const value = this.optional(name)
    if (value === undefined) return undefined
    if (!URL.canParse(value)) throw new InvalidRequestError(`${name} must be a valid URL`)
    return new URL(value)
  }
}
