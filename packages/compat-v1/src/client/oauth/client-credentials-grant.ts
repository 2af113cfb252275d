import type { OAuthClientInformation, OAuthClientMetadata, OAuthTokens } from '../../shared/auth.ts'

/** A provider for grants without a user, with everything in memory. */
export abstract class UnattendedProvider {
  private _tokens: OAuthTokens | undefined
  private readonly _tenonClient: OAuthClientInformation
  private readonly _tenonMetadata: OAuthClientMetadata
  private readonly _tenonFlow: string

  constructor(
    client: OAuthClientInformation,
    metadata: Omit<OAuthClientMetadata, 'redirect_uris'>,
    flow = 'client_credentials',
  ) {
    this._tenonClient = client
    this._tenonMetadata = { redirect_uris: [], ...metadata }
    this._tenonFlow = flow
  }

  get redirectUrl(): undefined {
    return undefined
  }

  get clientMetadata(): OAuthClientMetadata {
    return this._tenonMetadata
  }

  clientInformation(): OAuthClientInformation {
    return this._tenonClient
  }

  tokens(): OAuthTokens | undefined {
    return this._tokens
  }

  saveTokens(tokens: OAuthTokens): void {
    this._tokens = tokens
  }

  redirectToAuthorization(): void {
    throw new Error(`redirectToAuthorization is not used for ${this._tenonFlow} flow`)
  }

  saveCodeVerifier(): void {}

  codeVerifier(): string {
    throw new Error(`codeVerifier is not used for ${this._tenonFlow} flow`)
  }
}

/** The parameters of a token request with nothing but the client's own credentials (RFC 6749, 4.4.2). */
export function clientCredentialsRequest(scope: string | undefined): URLSearchParams {
  return new URLSearchParams({ grant_type: 'client_credentials', ...(scope && { scope }) })
}

/** Warns if the authorization server of fixed credentials is not known. */
export function checkIssuer(expectedIssuer: string | undefined): string | undefined {
  if (expectedIssuer === undefined) {
    console.warn(
      'Pass `expectedIssuer`, the issuer URL of your authorization server. ' +
        'Without it, the MCP server decides which authorization server gets the credentials of this client.',
    )
  } else if (typeof expectedIssuer !== 'string' || expectedIssuer === '') {
    throw new Error("expectedIssuer must be the authorization server's issuer URL")
  }
  return expectedIssuer
}
