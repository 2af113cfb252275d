import { type Params, Refusal } from './http.ts'
import type { Settings } from './options.ts'

/** The scopes that a request names, or else those that `otherwise` does. */
export function askedScope(params: Params, otherwise: string | undefined, settings: Settings): string[] {
  const scope = toScopes(params.get('scope') ?? otherwise)
  const unknown = scope.filter((name) => !isScope(name, settings))
  if (unknown.length > 0) throw new Refusal('invalid_scope', `There is no scope ${unknown.join(' ')}`)
  return scope
}

/** The scopes of a grant, or the fewer that a request names. */
export function narrowedScope(params: Params, granted: readonly string[]): readonly string[] {
  const asked = params.get('scope')
  if (asked === undefined) return granted
  const scope = toScopes(asked)
  if (!isWithin(scope, granted)) throw new Refusal('invalid_scope', 'scope goes beyond what was granted')
  return scope
}

/** The servers that a request wants tokens for (RFC 8707). */
export function askedResource(params: Params, settings: Settings): string[] {
  return checkResource(params.all('resource'), settings)
}

export function checkResource(asked: string[], { requireResource, resources }: Settings): string[] {
  if (asked.length === 0 && requireResource) throw new Refusal('invalid_target', 'resource is missing')
  for (const resource of asked) {
    const isAbsolute = URL.canParse(resource) && !resource.includes('#')
    if (!isAbsolute) throw new Refusal('invalid_target', 'resource is an absolute URI without fragment')
    if (resources.length > 0 && !resources.includes(resource)) {
      throw new Refusal('invalid_target', `There is no resource ${resource}`)
    }
  }
  return asked
}

/** The same, out of those that were granted. */
export function narrowedResource(params: Params, granted: readonly string[], settings: Settings): readonly string[] {
  const asked = askedResource(params, settings)
  if (!isWithin(asked, granted)) throw new Refusal('invalid_target', 'resource is not one that was granted')
  return asked.length > 0 ? asked : granted
}

export function isScope(name: string, { scopesSupported }: Settings): boolean {
  return scopesSupported.length === 0 || scopesSupported.includes(name)
}

export function toScopes(scope: string | undefined): string[] {
  return [...new Set((scope ?? '').split(' ').filter((name) => name !== ''))]
}

export function isWithin(names: readonly string[], others: readonly string[]): boolean {
  return names.every((name) => others.includes(name))
}
