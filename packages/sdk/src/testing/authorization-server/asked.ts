import { OAuthError } from '../../auth/server/oauth-error.ts'
import { isSubset, type Params, toScopes } from '../../auth/server/params.ts'
import type { Settings } from './options.ts'

/** Returns the requested scopes, or those of `otherwise` if the request names none. */
export function askedScope(params: Params, otherwise: string | undefined, settings: Settings): string[] {
  const scope = toScopes(params.get('scope') ?? otherwise)
  const unknown = scope.filter((name) => !isScope(name, settings))
  if (unknown.length > 0) throw new OAuthError('invalid_scope', `Unknown scope: ${unknown.join(' ')}`)
  return scope
}

/** Returns the resources that a request wants tokens for (RFC 8707). */
export function askedResource(params: Params, settings: Settings): string[] {
  return checkResource(params.all('resource'), settings)
}

export function checkResource(asked: string[], { requireResource, resources }: Settings): string[] {
  if (asked.length === 0 && requireResource) throw new OAuthError('invalid_target', 'resource is missing')
  for (const resource of asked) {
    const isAbsolute = URL.canParse(resource) && !resource.includes('#')
    if (!isAbsolute) throw new OAuthError('invalid_target', 'resource must be an absolute URI without a fragment')
    if (resources.length > 0 && !resources.includes(resource)) {
      throw new OAuthError('invalid_target', `Unknown resource: ${resource}`)
    }
  }
  return asked
}

/** Like `askedResource`, limited to the granted resources. */
export function narrowedResource(params: Params, granted: readonly string[], settings: Settings): readonly string[] {
  const asked = askedResource(params, settings)
  if (!isSubset(asked, granted)) throw new OAuthError('invalid_target', 'resource was not granted')
  return asked.length > 0 ? asked : granted
}

export function isScope(name: string, { scopesSupported }: Settings): boolean {
  return scopesSupported.length === 0 || scopesSupported.includes(name)
}
