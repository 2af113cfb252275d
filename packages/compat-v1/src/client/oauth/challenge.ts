import { type Challenge, parseChallenges } from 'tenon/client'

/** Reads the Bearer challenge of a response. Parameters that are missing or invalid are undefined. */
export function extractWWWAuthenticateParams(res: Response): {
  resourceMetadataUrl?: URL
  scope?: string
  error?: string
} {
  const challenge = bearerChallengeOf(res)
  if (!challenge) return {}
  const { scope, error } = challenge.params
  return {
    resourceMetadataUrl: toUrl(challenge.params.resource_metadata),
    scope: scope || undefined,
    error: error || undefined,
  }
}

/**
 * Reads the URL of the resource metadata from the Bearer challenge of a response.
 *
 * @deprecated Use `extractWWWAuthenticateParams`.
 */
export function extractResourceMetadataUrl(res: Response): URL | undefined {
  return toUrl(bearerChallengeOf(res)?.params.resource_metadata)
}

export function bearerChallengeOf(res: Response): Challenge | undefined {
  const header = res.headers.get('WWW-Authenticate') ?? undefined
  return parseChallenges(header).find(({ scheme }) => scheme === 'bearer')
}

function toUrl(text: string | undefined): URL | undefined {
  return text !== undefined && URL.canParse(text) ? new URL(text) : undefined
}
