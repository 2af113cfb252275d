import type { EndpointResponse } from '../../../auth/http.ts'
import { OAuthError } from '../../../auth/server/oauth-error.ts'
import type { Params } from '../../../auth/server/params.ts'
import type { RegisteredClient } from '../clients.ts'
import type { State } from '../state.ts'

/** A token request. If it names a client, the client is authenticated. */
export interface TokenRequest {
  readonly params: Params
  readonly client: RegisteredClient | undefined
  /** The thumbprint of the key whose possession the request proves. */
  readonly jkt: string | undefined
}

/** Handles the token requests of one grant type. */
export type GrantHandler = (request: TokenRequest, state: State) => Promise<EndpointResponse>

/** Returns the client. Throws if the request names none. */
export function needClient({ client }: TokenRequest): RegisteredClient {
  if (client) return client
  throw new OAuthError('invalid_client', 'The request names no client', 401)
}
