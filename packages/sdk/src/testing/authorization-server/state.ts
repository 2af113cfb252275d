import type { EndpointResponse } from '../../auth/http.ts'
import type { AuthorizationRequests } from './authorization-requests.ts'
import type { Clients } from './clients.ts'
import type { Proofs } from './dpop.ts'
import type { Faults } from './faults.ts'
import type { Call } from './http.ts'
import type { Keys } from './keys.ts'
import type { Settings } from './options.ts'
import type { Tokens } from './tokens.ts'

export type EndpointName = 'metadata' | 'jwks' | 'authorize' | 'token' | 'register' | 'introspect' | 'revoke'

/** Handles the requests to one endpoint. */
export type Endpoint = (call: Call, state: State) => EndpointResponse | Promise<EndpointResponse>

/** The state of one authorization server. */
export interface State {
  readonly settings: Settings
  readonly issuer: string
  readonly keys: Keys
  readonly clients: Clients
  readonly requests: AuthorizationRequests
  readonly tokens: Tokens
  readonly proofs: Proofs
  /** Client assertions that were used and cannot be used again. */
  readonly usedAssertions: Set<string>
  readonly faults: Faults
}
