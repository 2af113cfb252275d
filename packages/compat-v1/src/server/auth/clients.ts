import type { OAuthClientInformationFull } from '../../shared/auth.ts'

/** Stores the clients that registered with the authorization server. */
export interface OAuthRegisteredClientsStore {
  /** Returns a client; undefined if it is unknown. */
  getClient(clientId: string): OAuthClientInformationFull | undefined | Promise<OAuthClientInformationFull | undefined>
  /** Stores a new client and returns it, possibly changed. Without it, clients cannot register themselves. */
  registerClient?(
    client: Omit<OAuthClientInformationFull, 'client_id' | 'client_id_issued_at'>,
  ): OAuthClientInformationFull | Promise<OAuthClientInformationFull>
}
