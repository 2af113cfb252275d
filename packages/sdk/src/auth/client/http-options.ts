import { allowInsecureRequests, customFetch } from 'oauth4webapi'
import type { AuthContext } from './context.ts'

/** How requests to an authorization server are made: by our own fetch, which judges where they go. */
export function requestOptions({ fetch }: AuthContext) {
  return {
    [customFetch]: (url: string, init: unknown) => fetch(url, init as RequestInit),
    // The fetch above allows plain http only on this machine.
    [allowInsecureRequests]: true,
  }
}
