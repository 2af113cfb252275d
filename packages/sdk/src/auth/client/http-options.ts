import { allowInsecureRequests, customFetch } from 'oauth4webapi'
import type { AuthContext } from './context.ts'

/** How requests to an authorization server are made: by our own fetch, which judges where they go. */
export function requestOptions({ fetch }: AuthContext) {
  return {
    [customFetch]: async (url: string, init: unknown) => withoutChallenge(await fetch(url, init as RequestInit)),
    // The fetch above allows plain http only on this machine.
    [allowInsecureRequests]: true,
  }
}

/** RFC 6749, 5.2: what is wrong stands in the body; beside a challenge it would not be read. */
function withoutChallenge(response: Response): Response {
  if (response.status !== 401 || !response.headers.has('www-authenticate')) return response
  const headers = new Headers(response.headers)
  headers.delete('www-authenticate')
  return new Response(response.body, { status: response.status, headers })
}
