import type { Redirect, UserAgent } from '../client/oauth-session.ts'
import { openBrowser } from './browser.ts'
import { type AwaitedRedirect, waitForRedirect } from './loopback.ts'

/** The user's own browser, which comes back to this machine (RFC 8252). */
export function browserAgent(): UserAgent {
  return {
    async prepare(registered): Promise<Redirect> {
      let expected: string | undefined
      const expect = (state: string) => state === expected
      const waiting = await listen(registered, expect)
      return {
        url: waiting.redirectUri,
        async visit(page, state) {
          expected = state
          await openBrowser(page)
          return waiting.result
        },
        close: () => waiting.close(),
      }
    },
  }
}

/** Where the client was registered with a port, that one again if it is free: not every server allows another. */
async function listen(registered: string | undefined, expect: (state: string) => boolean): Promise<AwaitedRedirect> {
  const port = registered === undefined ? 0 : Number(new URL(registered).port)
  if (port > 0) {
    try {
      return await waitForRedirect({ port, expect })
    } catch {
      // Taken: another one, and the client is registered anew.
    }
  }
  return waitForRedirect({ expect })
}
