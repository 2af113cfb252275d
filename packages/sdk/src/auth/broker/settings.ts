import { warnOnce } from '../../util/warn.ts'
import { redacted } from '../client/context.ts'
import { checkIssuerUrl } from '../resource/issuer-fetch.ts'
import { checkHostPatterns } from '../server/client-documents.ts'
import { checkSchemes } from '../server/redirect-uris.ts'
import type { BrokerOptions, BrokerSettings } from './options.ts'

/** Checks the options and applies the defaults. */
export function resolveOptions(options: BrokerOptions): BrokerSettings {
  const resource = String(options.resource)
  const url = checkIssuerUrl('broker: resource', resource)
  if (resource.includes('#')) throw new TypeError('broker: resource must not have a fragment.')
  const issuer = (options.issuer ?? url.origin).replace(/\/$/, '')
  if (/[?#]/.test(checkIssuerUrl('broker: issuer', issuer).href)) {
    throw new TypeError('broker: issuer must not have a query or a fragment.')
  }
  const { callbackPath = '/callback', accessTokenSeconds = 3_600, requiredScopes } = options
  if (!/^(\/[\w.~-]+)+$/.test(callbackPath))
    throw new TypeError(`broker: callbackPath must be a path such as '/callback'.`)
  if (!(accessTokenSeconds > 0 && accessTokenSeconds <= 3_600)) {
    throw new TypeError('broker: accessTokenSeconds must be between 1 and 3,600.')
  }
  const scopes = new Map(Object.entries(options.scopes ?? {}))
  for (const name of requiredScopes ?? []) {
    if (!scopes.has(name)) throw new TypeError(`broker: scopes must describe the required scope ${name}.`)
  }
  checkHostPatterns('broker: trustedClientHosts', options.trustedClientHosts)
  return {
    resource,
    resourceName: options.resourceName ?? url.host,
    issuer,
    callbackPath,
    callbackUrl: issuer + callbackPath,
    scopes,
    // For clients that request no scopes: the required ones, or all if there are none.
    defaultScopes: requiredScopes ?? [...scopes.keys()],
    redirectSchemes: checkSchemes(options.redirectSchemes ?? [], 'broker: redirectSchemes'),
    trustedClientHosts: options.trustedClientHosts,
    accessTokenSeconds,
    refreshTokenSeconds: options.refreshTokenSeconds ?? 30 * 86_400,
    maxPending: options.maxPending ?? 2_000,
    reportError: (error) => (options.onError ?? writeError)(redacted(error)),
  }
}

/** Short secrets could be guessed from the values that they encrypt. */
export function checkSecrets(secrets: readonly string[] | undefined): readonly string[] {
  if (secrets === undefined) {
    warnOnce(
      'broker-secrets',
      'broker: `secrets` is not set, so registrations and logins are lost when the process ends. Pass secrets: [...].',
    )
    return []
  }
  const isValid = secrets.length > 0 && secrets.every((secret) => typeof secret === 'string' && secret.length >= 32)
  if (!isValid) throw new TypeError('broker: secrets must be strings of at least 32 random characters, newest first.')
  return secrets
}

/** The message may contain text from strangers, so control characters are removed. */
function writeError(error: Error): void {
  console.error('[tenon] broker:', error.message.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' '))
}
