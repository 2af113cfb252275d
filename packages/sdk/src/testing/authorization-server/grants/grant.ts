import type { EndpointResponse } from '../../../auth/http.ts'
import { OAuthError } from '../../../auth/server/oauth-error.ts'
import type { Params } from '../../../auth/server/params.ts'
import type { RegisteredClient } from '../clients.ts'
import type { State } from '../state.ts'

/** A token request whose client, if it names one, is who it says. */
export interface TokenRequest {
  readonly params: Params
  readonly client: RegisteredClient | undefined
  /** The thumbprint of the key that the request proved to have. */
  readonly jkt: string | undefined
}

/** What answers the token requests of one grant type. */
export type GrantHandler = (request: TokenRequest, state: State) => Promise<EndpointResponse>

/** For grants that only clients may use which said who they are. */
export function needClient({ client }: TokenRequest): RegisteredClient {
  if (client) return client
  throw new OAuthError('invalid_client', 'The request does not say which client it is from', 401)
}
