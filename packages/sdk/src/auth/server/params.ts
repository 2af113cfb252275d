import type { AuthCall } from '../http.ts'
import { OAuthError } from './oauth-error.ts'

/** The parameters of a request. RFC 6749, 3.1: an empty one counts as absent, a repeated one is an error. */
export class Params {
  readonly #search: URLSearchParams

  constructor(search: URLSearchParams) {
    this.#search = search
  }

  get(name: string): string | undefined {
    const values = this.all(name)
    if (values.length > 1) throw new OAuthError('invalid_request', `${name} was sent more than once`)
    return values[0]
  }

  need(name: string): string {
    const value = this.get(name)
    if (value === undefined) throw new OAuthError('invalid_request', `${name} is missing`)
    return value
  }

  all(name: string): string[] {
    return this.#search.getAll(name).filter((value) => value !== '')
  }

  /** For people who look at it; of several values the last. */
  toRecord(): Record<string, string> {
    return Object.fromEntries(this.#search)
  }
}

/** From the query of a GET, or the form of a POST. */
export function paramsOf({ method, url, body, header }: AuthCall): Params {
  if (method !== 'POST') return new Params(new URLSearchParams(/\?([^#]*)/.exec(url)?.[1] ?? ''))
  return new Params(new URLSearchParams(isForm(header('content-type')) ? body : ''))
}

export function isForm(contentType: string | undefined): boolean {
  return /^application\/x-www-form-urlencoded\b/i.test(contentType ?? '')
}

/** Each name once. */
export function toScopes(scope: string | undefined): string[] {
  return [...new Set((scope ?? '').split(' ').filter((name) => name !== ''))]
}

export function isWithin(names: readonly string[], others: readonly string[]): boolean {
  return names.every((name) => others.includes(name))
}

/** The scopes of a grant, or the fewer that a request names. */
export function narrowedScope(params: Pick<Params, 'get'>, granted: readonly string[]): readonly string[] {
  const asked = params.get('scope')
  if (asked === undefined) return granted
  const scope = toScopes(asked)
  if (!isWithin(scope, granted)) throw new OAuthError('invalid_scope', 'scope goes beyond what was granted')
  return scope
}
