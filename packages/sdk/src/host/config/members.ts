import { isObject, type JsonObject } from '../../util/objects.ts'
import type { ServerProblems } from './problems.ts'
import type { VariableSource } from './variables.ts'

/** What the validation of one server needs. */
export interface EntryContext {
  readonly variables: VariableSource
  readonly problems: ServerProblems
  /** Reads the file of `envFile`. Undefined where there are no files. */
  readonly readText: ((path: string) => string) | undefined
}

/** Reads the members of one server, checks their types and replaces variables. Wrong members are reported and left out. */
export class Members {
  readonly #entry: JsonObject
  readonly #problems: ServerProblems
  readonly #expand: (text: string, member: string) => string

  constructor(entry: JsonObject, problems: ServerProblems, expand: (text: string, member: string) => string) {
    this.#entry = entry
    this.#problems = problems
    this.#expand = expand
  }

  /** The member as it is; undefined if it is absent or null. */
  raw(name: string): unknown {
    return Object.hasOwn(this.#entry, name) ? (this.#entry[name] ?? undefined) : undefined
  }

  /** Warns about members without effect. */
  warnUnused(names: readonly string[], reason: string): void {
    for (const name of names) if (this.raw(name) !== undefined) this.#problems.warn(name, `is not used, ${reason}.`)
  }

  string(name: string): string | undefined {
    const value = this.raw(name)
    return value === undefined ? undefined : this.#text(value, name)
  }

  boolean(name: string): boolean | undefined {
    const value = this.raw(name)
    if (value === undefined || typeof value === 'boolean') return value
    this.#problems.fail(name, 'must be true or false.')
    return undefined
  }

  positive(name: string): number | undefined {
    const value = this.raw(name)
    if (value === undefined || (typeof value === 'number' && value > 0)) return value
    this.#problems.fail(name, 'must be a number of milliseconds above 0.')
    return undefined
  }

  strings(name: string): string[] | undefined {
    const value = this.raw(name)
    return value === undefined ? undefined : this.texts(value, name)
  }

  /** Checks a list of texts that is not a member itself. */
  texts(value: unknown, name: string): string[] {
    if (!Array.isArray(value)) {
      this.#problems.fail(name, 'must be an array of strings.')
      return []
    }
    return value.flatMap((item: unknown, index) => this.#text(item, `${name}[${index}]`) ?? [])
  }

  /** Reads an object of texts. Numbers and booleans become texts; null leaves the name out. */
  map(name: string, checkKey: (key: string) => string | undefined): Record<string, string> | undefined {
    const value = this.raw(name)
    return value === undefined ? undefined : this.textMap(value, name, checkKey)
  }

  /** Checks an object of texts that is not a member itself. */
  textMap(value: unknown, name: string, checkKey: (key: string) => string | undefined): Record<string, string> {
    const result: Record<string, string> = Object.create(null)
    if (!isObject(value)) {
      this.#problems.fail(name, 'must be an object of strings.')
      return result
    }
    for (const [key, item] of Object.entries(value)) {
      const problem = checkKey(key)
      if (problem !== undefined) this.#problems.fail(`${name}.${key}`, problem)
      const text = item === null ? undefined : this.#text(scalarText(item), `${name}.${key}`)
      if (problem === undefined && text !== undefined) result[key] = text
    }
    return result
  }

  #text(value: unknown, member: string): string | undefined {
    if (typeof value !== 'string') {
      this.#problems.fail(member, 'must be a string.')
      return undefined
    }
    const text = this.#expand(value, member)
    if (!text.includes('\0')) return text
    this.#problems.fail(member, 'must not contain NUL characters.')
    return undefined
  }
}

function scalarText(value: unknown): unknown {
  return typeof value === 'boolean' || Number.isFinite(value) ? String(value) : value
}
