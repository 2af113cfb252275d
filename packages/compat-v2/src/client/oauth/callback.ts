import type { FetchLike } from '@tenon/compat-v1/shared/transport.js'
import { OAuthError } from '../../core/errors.ts'
import { IssuerMismatchError, UnauthorizedError } from '../authErrors.ts'
import { discoverOAuthServerInfo } from './discovery.ts'
import type { OAuthClientProvider } from './provider.ts'
import type { AuthorizationServerMetadata } from './schemas.ts'

/**
 * Checks the `iss` parameter that the user came back with (RFC 9207, 2.4), before the code is sent to a token endpoint. Both are
 * compared as text.
 *
 * @param options.expectedIssuer The issuer in the metadata. Undefined if there are none: then nothing can be checked.
 * @param options.issParameterSupported Whether the metadata promise the parameter. Then it must not be missing.
 * @throws {IssuerMismatchError} If the response comes from another authorization server.
 */
export function validateAuthorizationResponseIssuer(options: {
  iss: string | undefined
  expectedIssuer: string | undefined
  issParameterSupported: boolean
}): void {
  const { iss, expectedIssuer, issParameterSupported } = options
  if (expectedIssuer === undefined) return
  const isAbsentAsAnnounced = iss === undefined && !issParameterSupported
  if (!isAbsentAsAnnounced && iss !== expectedIssuer) {
    throw new IssuerMismatchError('authorization_response', expectedIssuer, iss)
  }
}

/** The same check, with what the metadata say. */
export function checkCallbackIssuer(iss: string | undefined, metadata: AuthorizationServerMetadata | undefined): void {
  validateAuthorizationResponseIssuer({
    iss,
    expectedIssuer: metadata?.issuer,
    issParameterSupported: metadata?.authorization_response_iss_parameter_supported === true,
  })
}

/**
 * Reads what the user came back with: the code, or all parameters of the URL. Errors in the parameters are thrown only if they
 * come from the right authorization server, because an attacker may have written them.
 */
export async function resolveAuthorizationCallbackParams(
  codeOrParams: string | URLSearchParams,
  iss: string | undefined,
  provider: OAuthClientProvider,
  serverUrl: string | URL,
  opts?: { fetchFn?: FetchLike; resourceMetadataUrl?: URL },
): Promise<{ authorizationCode: string; iss: string | undefined }> {
  if (typeof codeOrParams === 'string') return { authorizationCode: codeOrParams, iss }
  const params = codeOrParams
  const received = params.get('iss') ?? undefined
  const code = params.get('code')
  // `auth` checks the issuer before it uses the code.
  if (code) return { authorizationCode: code, iss: received }
  const metadata = await recordedMetadata(provider, serverUrl, opts)
  if (!metadata) throw new UnauthorizedError('Authorization callback failed and the issuer could not be verified')
  checkCallbackIssuer(received, metadata)
  const error = params.get('error')
  if (!error) throw new UnauthorizedError('Authorization callback contained neither `code` nor `error`')
  throw new OAuthError(error, params.get('error_description') ?? error, params.get('error_uri') ?? undefined)
}

async function recordedMetadata(
  provider: OAuthClientProvider,
  serverUrl: string | URL,
  opts: { fetchFn?: FetchLike; resourceMetadataUrl?: URL } | undefined,
): Promise<AuthorizationServerMetadata | undefined> {
  const recorded = (await provider.discoveryState?.())?.authorizationServerMetadata
  if (recorded) return recorded
  const found = await discoverOAuthServerInfo(serverUrl, opts).catch(() => undefined)
  return found?.authorizationServerMetadata
}
