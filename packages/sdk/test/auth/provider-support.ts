import type {
  OAuthClientProvider,
  ProviderClientInformation,
  ProviderTokens,
} from '../../src/auth/client/provider-port.ts'

export const redirectUrl = 'https://app.example/back'

/** As an application would write it: everything in memory, and pages are noted instead of opened. */
export class Keeper implements OAuthClientProvider {
  readonly redirectUrl: string | undefined = redirectUrl
  readonly clientMetadata = { redirect_uris: [redirectUrl], client_name: 'Keeper' }
  readonly pages: URL[] = []
  readonly invalidated: string[] = []
  client: ProviderClientInformation | undefined
  held: ProviderTokens | undefined
  verifier = ''

  clientInformation() {
    return this.client
  }
  saveClientInformation(information: ProviderClientInformation) {
    this.client = information
  }
  tokens() {
    return this.held
  }
  saveTokens(tokens: ProviderTokens) {
    this.held = tokens
  }
  redirectToAuthorization(page: URL): void | Promise<void> {
    this.pages.push(page)
  }
  saveCodeVerifier(verifier: string) {
    this.verifier = verifier
  }
  codeVerifier() {
    return this.verifier
  }
  invalidateCredentials(what: string) {
    this.invalidated.push(what)
    this.held = undefined
    if (what === 'all') this.client = undefined
  }
}
