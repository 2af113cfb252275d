import { warnOnce } from '../../util/warn.ts'
import { plain } from '../client/context.ts'
import { checkIssuerUrl } from '../resource/issuer-fetch.ts'
import { checkHostPatterns } from '../server/client-documents.ts'
import { checkSchemes } from '../server/redirect-uris.ts'
import type { BrokerOptions, BrokerSettings } from './options.ts'

export function resolveOptions(options: BrokerOptions): BrokerSettings {
  const resource = String(options.resource)
  const url = checkIssuerUrl('broker: resource', resource)
  if (resource.includes('#')) throw new TypeError('broker: resource must not have a fragment')
  const issuer = (options.issuer ?? url.origin).replace(/\/$/, '')
  if (/[?#]/.test(checkIssuerUrl('broker: issuer', issuer).href)) {
    throw new TypeError('broker: issuer has neither query nor fragment')
  }
  const { callbackPath = '/callback', accessTokenSeconds = 3_600, requiredScopes } = options
  if (!/^(\/[\w.~-]+)+$/.test(callbackPath)) throw new TypeError(`broker: callbackPath is a path such as '/callback'`)
  if (!(accessTokenSeconds > 0 && accessTokenSeconds <= 3_600)) {
    throw new TypeError('broker: accessTokenSeconds is at most 3,600')
  }
  const scopes = new Map(Object.entries(options.scopes ?? {}))
  for (const name of requiredScopes ?? []) {
    if (!scopes.has(name)) throw new TypeError(`broker: scopes says nothing about the required scope ${name}`)
  }
  checkHostPatterns('broker: trustedClientHosts', options.trustedClientHosts)
  return {
    resource,
    resourceName: options.resourceName ?? url.host,
    issuer,
    callbackPath,
    callbackUrl: issuer + callbackPath,
    scopes,
    // Who asks for nothing in particular gets what every request needs; without such, all that there is.
    defaultScopes: requiredScopes ?? [...scopes.keys()],
    redirectSchemes: checkSchemes(options.redirectSchemes ?? [], 'broker: redirectSchemes'),
    trustedClientHosts: options.trustedClientHosts,
    accessTokenSeconds,
    refreshTokenSeconds: options.refreshTokenSeconds ?? 30 * 86_400,
    maxPending: options.maxPending ?? 2_000,
    reportError: (error) => (options.onError ?? writeError)(plain(error)),
  }
}

/** Short ones could be guessed by whoever sees what they sealed. */
export function checkSecrets(secrets: readonly string[] | undefined): readonly string[] {
  if (secrets === undefined) {
    warnOnce(
      'broker-secrets',
      'broker: without secrets, clients and logins are forgotten when the process ends; give secrets: [...]',
    )
    return []
  }
  const isGood = secrets.length > 0 && secrets.every((secret) => typeof secret === 'string' && secret.length >= 32)
  if (!isGood) throw new TypeError('broker: secrets are texts of at least 32 random characters, the newest first')
  return secrets
}

/** Some of it may be what a stranger wrote: nothing of that ends a line or speaks to the terminal. */
function writeError(error: Error): void {
  console.error('[tenon] broker:', error.message.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' '))
}
