import * as v2 from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport as SseV1 } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { followRedirect, redirectUrl } from './auth.js'

/**
 * The official clients as used by a host. `open(provider, url)` returns a client and its transport, not yet connected;
 * `finish(transport, params)` redeems the authorization code.
 */
export const officialClients = {
  'official v1': {
    open: (provider, url) => ({
      client: new ClientV1({ name: 'official-v1', version: '1.0.0' }),
      transport: new HttpV1(new URL(url), { authProvider: provider }),
    }),
    finish: (transport, params) => transport.finishAuth(params.get('code')),
  },
  'official v1 over SSE': {
    open: (provider, url) => ({
      client: new ClientV1({ name: 'official-v1', version: '1.0.0' }),
      transport: new SseV1(new URL('/sse', url), { authProvider: provider }),
    }),
    finish: (transport, params) => transport.finishAuth(params.get('code')),
  },
  'official v2, 2025-11-25': speakingV2({ mode: 'legacy' }),
  'official v2, 2026-07-28': speakingV2({ mode: { pin: '2026-07-28' } }),
  'official v2 by its own negotiation': speakingV2({ mode: 'auto' }),
}

function speakingV2(versionNegotiation) {
  return {
    open: (provider, url) => ({
      client: new v2.Client({ name: 'official-v2', version: '1.0.0' }, { versionNegotiation }),
      transport: new v2.StreamableHTTPClientTransport(new URL(url), { authProvider: provider }),
    }),
    // With all the parameters, so that it checks `iss`.
    finish: (transport, params) => transport.finishAuth(params),
  }
}

/** The provider interface of the official clients, in memory. `fetch` acts as the browser of the user. */
export class HostProvider {
  redirectUrl = redirectUrl
  clientMetadata = {
    client_name: 'A host',
    redirect_uris: [redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }
  /** The parameters of the last redirect. */
  came
  #client
  #tokens
  #verifier
  #state
  #discovered

  constructor(extras = {}) {
    Object.assign(this, extras)
  }

  state() {
    this.#state = crypto.randomUUID()
    return this.#state
  }

  clientInformation() {
    return this.#client
  }

  saveClientInformation(client) {
    this.#client = client
  }

  tokens() {
    return this.#tokens
  }

  saveTokens(tokens) {
    this.#tokens = tokens
  }

  async redirectToAuthorization(page) {
    const { searchParams } = await followRedirect(page)
    if (searchParams.get('state') !== this.#state) throw new Error('The user came back with another state')
    this.came = searchParams
  }

  saveCodeVerifier(verifier) {
    this.#verifier = verifier
  }

  codeVerifier() {
    return this.#verifier
  }

  saveDiscoveryState(discovered) {
    this.#discovered = discovered
  }

  discoveryState() {
    return this.#discovered
  }
}

/**
 * Connects; if the client reports that consent is needed, redeems the code and connects again.
 *
 * @returns The client, which is closed after the test, and its transport.
 */
export async function logIn(t, { open, finish }, provider, url) {
  const first = open(provider, url)
  const refusal = await first.client.connect(first.transport).then(
    () => undefined,
    (error) => error,
  )
  if (!refusal) return closing(t, first)
  if (!provider.came) throw refusal
  await finish(first.transport, provider.came)
  provider.came = undefined
  await first.client.close()
  const second = open(provider, url)
  await second.client.connect(second.transport)
  return closing(t, second)
}

function closing(t, opened) {
  t.after(() => opened.client.close())
  return opened
}
