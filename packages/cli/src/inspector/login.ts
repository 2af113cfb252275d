import { oauth, type TokenStore, waitForRedirect } from 'tenon/auth/client'
import type { EventLog } from './event-log.ts'
import type { InspectedServer } from './inspected-server.ts'
import type { AuthStep } from './protocol.ts'

/** The name of the client on the consent pages of authorization servers. */
export const clientName = 'Tenon Inspector'

/** Options of `login`. */
export interface LoginOptions {
  readonly server: InspectedServer
  readonly log: EventLog
  readonly tokens: TokenStore
}

/**
 * Connects to a server again, and lets the user log in when it requires that. The rest of the login is in the log.
 * @returns The page where the user logs in. Undefined if the server did not require a login, or if it failed before.
 */
export async function login({ server, log, tokens }: LoginOptions): Promise<string | undefined> {
  let expectedState: string | null | undefined
  const redirect = await waitForRedirect({ expect: (state) => state === expectedState })
  const step = (fact: Omit<AuthStep, 'kind' | 'server'>) => log.append({ kind: 'auth', server: server.id, ...fact })
  return new Promise((resolve) => {
    const authorize = async (page: URL) => {
      expectedState = page.searchParams.get('state')
      step({
        title: 'Login',
        outcome: 'waiting',
        expected: `you log in, and are sent back to ${redirect.redirectUri}`,
        url: page.href,
      })
      resolve(page.href)
      const params = await redirect.result
      step(outcomeOf(params))
      return params
    }
    const auth = oauth({ store: tokens, redirectUrl: redirect.redirectUri, authorize, clientName })
    void server.connect(auth).finally(async () => {
      resolve(undefined)
      await redirect.close()
    })
  })
}

function outcomeOf(params: URLSearchParams): Omit<AuthStep, 'kind' | 'server'> {
  const error = params.get('error')
  const expected = 'a redirect with "code"'
  if (error === null) return { title: 'Redirect', outcome: 'ok', expected, found: expected }
  const description = params.get('error_description')
  const found = `the error ${JSON.stringify(error)}${description === null ? '' : `: ${description}`}`
  return { title: 'Redirect', outcome: 'failed', expected, found: found.slice(0, 1_000) }
}
