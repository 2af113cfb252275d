import type { EndpointRequest } from '../http.ts'
import { OAuthError } from './oauth-error.ts'

/** The parameters of a request. RFC 6749, 3.1: an empty one counts as missing, a repeated one is an error. */
export class Params {
  readonly #search: URLSearchParams

  constructor(search: URLSearchParams) {
    this.#search = search
  }

  get(name: string): string | undefined {
    const values = this.all(name)
    if (values.length > 1) throw new OAuthError('invalid_request', `The ${name} was sent more than once.`)
    return values[0]
  }

  require(name: string): string {
    const value = this.get(name)
    if (value === undefined) throw new OAuthError('invalid_request', `The ${name} is missing.`)
    return value
  }

  all(name: string): string[] {
    return this.#search.getAll(name).filter((value) => value !== '')
  }

  /** Returns all parameters, for logs. If one is repeated, the last value is used. */
  toRecord(): Record<string, string> {
    return Object.fromEntries(this.#search)
  }
}

/** Reads the query of a GET or the form of a POST. */
export function paramsOf({ method, url, body, header }: EndpointRequest): Params {
  if (method !== 'POST') return new Params(new URLSearchParams(/\?([^#]*)/.exec(url)?.[1] ?? ''))
  return new Params(new URLSearchParams(isForm(header('content-type')) ? body : ''))
}

/** Returns whether a content type is that of a form. */
export function isForm(contentType: string | undefined): boolean {
  return /^application\/x-www-form-urlencoded\b/i.test(contentType ?? '')
}

/** Splits a scope parameter into names without duplicates. */
export function toScopes(scope: string | undefined): string[] {
  return [...new Set((scope ?? '').split(' ').filter((name) => name !== ''))]
}

/** Returns whether all names are among the others. */
export function isSubset(names: readonly string[], others: readonly string[]): boolean {
  return names.every((name) => others.includes(name))
}

/** Returns the scopes of a grant, or the subset that a request names. */
export function narrowedScope(params: Pick<Params, 'get'>, granted: readonly string[]): readonly string[] {
  const requested = params.get('scope')
  if (requested === undefined) return granted
  const scope = toScopes(requested)
  if (!isSubset(scope, granted)) throw new OAuthError('invalid_scope', 'The scope exceeds what was granted.')
  return scope
}
