import { type Challenge, parseChallenges } from 'tenon/client'

/** Reads the Bearer or DPoP challenge of a response. Parameters that are missing or invalid are undefined. */
export function extractWWWAuthenticateParams(res: Response): {
  resourceMetadataUrl?: URL
  scope?: string
  error?: string
  errorDescription?: string
} {
  const challenge = challengeOf(res, ['bearer', 'dpop'])
  if (!challenge) return {}
  const { resource_metadata, scope, error, error_description } = challenge.params
  return {
    resourceMetadataUrl: toUrl(resource_metadata),
    scope: scope || undefined,
    error: error || undefined,
    errorDescription: error_description || undefined,
  }
}

/** Whether a server refused a request because its DPoP proof must contain a nonce (RFC 9449, 9). */
export function isDpopNonceChallenge(response: Response): boolean {
  return response.status === 401 && challengeOf(response, ['dpop'])?.params.error === 'use_dpop_nonce'
}

function challengeOf(res: Response, schemes: readonly string[]): Challenge | undefined {
  const header = res.headers.get('WWW-Authenticate') ?? undefined
  return parseChallenges(header).find(({ scheme }) => schemes.includes(scheme))
}

function toUrl(text: string | undefined): URL | undefined {
  return text !== undefined && URL.canParse(text) ? new URL(text) : undefined
}
