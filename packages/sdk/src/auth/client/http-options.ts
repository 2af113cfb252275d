import { allowInsecureRequests, customFetch } from 'oauth4webapi'
import type { AuthContext } from './context.ts'

/** Options for requests to an authorization server: they are sent by the guarded fetch of the context. */
export function requestOptions({ fetch }: AuthContext) {
  return {
    [customFetch]: async (url: string, init: unknown) => withoutChallenge(await fetch(url, init as RequestInit)),
    // The fetch above allows http: only on this machine.
    [allowInsecureRequests]: true,
  }
}

/** RFC 6749, 5.2: the error is in the body, which oauth4webapi does not read if there is a challenge. */
function withoutChallenge(response: Response): Response {
  if (response.status !== 401 || !response.headers.has('www-authenticate')) return response
  const headers = new Headers(response.headers)
  headers.delete('www-authenticate')
  return new Response(response.body, { status: response.status, headers })
}
