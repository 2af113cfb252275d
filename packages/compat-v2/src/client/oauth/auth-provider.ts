import { UnauthorizedError } from '../authErrors.ts'
import { extractWWWAuthenticateParams } from './challenge.ts'
import { auth } from './flow.ts'
import type { AuthOptions, AuthProvider, OAuthClientProvider, UnauthorizedContext } from './provider.ts'

/** Tells the two kinds of `authProvider` apart. */
export function isOAuthClientProvider(
  provider: AuthProvider | OAuthClientProvider | undefined,
): provider is OAuthClientProvider {
  const candidate = provider as Partial<OAuthClientProvider> | undefined | null
  return typeof candidate?.tokens === 'function' && typeof candidate.clientInformation === 'function'
}

/** Runs `auth` for a request that the server refused. Throws if the user has to authorize first. */
export async function handleOAuthUnauthorized(
  provider: OAuthClientProvider,
  { response, serverUrl, fetchFn }: UnauthorizedContext,
  extraAuthOptions?: Pick<AuthOptions, 'skipIssuerMetadataValidation'>,
): Promise<void> {
  const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response)
  const result = await auth(provider, { serverUrl, resourceMetadataUrl, scope, fetchFn, ...extraAuthOptions })
  if (result !== 'AUTHORIZED') throw new UnauthorizedError()
}

/** Adapts an OAuth provider to what transports use. */
export function adaptOAuthProvider(
  provider: OAuthClientProvider,
  extraAuthOptions?: Pick<AuthOptions, 'skipIssuerMetadataValidation'>,
): AuthProvider {
  return {
    token: async () => (await provider.tokens())?.access_token,
    onUnauthorized: (ctx) => handleOAuthUnauthorized(provider, ctx, extraAuthOptions),
  }
}
