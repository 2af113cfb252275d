import type { Answer, ProviderSession } from '../../auth/client/provider.ts'
import type { OAuthClientProvider } from '../../auth/client/provider-port.ts'
import type { AuthRefusal, ClientAuth } from './client-auth.ts'

/** The provider's credentials. What speaks OAuth is loaded only for those who have a provider. */
export class ProvidedAuth implements ClientAuth {
  readonly #provider: OAuthClientProvider
  readonly #server: URL
  #session: Promise<ProviderSession> | undefined

  constructor(provider: OAuthClientProvider, server: URL) {
    this.#provider = provider
    this.#server = server
  }

  async headers(): Promise<Record<string, string>> {
    return (await this.#open()).headers()
  }

  async refused(refusal: AuthRefusal): Promise<boolean> {
    return (await this.#open()).refused(refusal)
  }

  async finishAuth(answer: Answer, iss?: string): Promise<void> {
    await (await this.#open()).finishAuth(answer, iss)
  }

  #open(): Promise<ProviderSession> {
    this.#session ??= import('../../auth/client/provider.ts').then(({ withProvider }) =>
      withProvider(this.#provider)(this.#server),
    )
    return this.#session
  }
}
