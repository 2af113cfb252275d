/** Sends users to an authorization page, and returns what they come back with. */
export interface UserAgent {
  /**
   * Prepares a redirect URL, before the client is registered with it.
   * @param registered The redirect URL that the client was registered with before.
   */
  prepare(registered: string | undefined): Promise<Redirect>
}

export interface Redirect {
  readonly url: string
  /** Opens the page, and resolves with the parameters of the URL that the user came back to. */
  visit(page: URL, state: string): Promise<URLSearchParams>
  close(): Promise<void> | void
}
