import { McpError } from '../../errors.ts'
import type { Redirect, UserAgent } from '../client/redirect-flow.ts'
import { openBrowser, toSafeUrl } from './browser.ts'
import { type AwaitedRedirect, waitForRedirect } from './loopback.ts'

/**
 * Logs in with the user's browser, which is redirected back to this machine (RFC 8252). If no browser can be opened, the URL
 * is written to stderr.
 *
 * @param show Shows the page in another way. May resolve to the parameters that the user came back with.
 */
export function browserAgent(show?: (page: URL) => Promise<URLSearchParams | undefined>): UserAgent {
  return {
    async prepare(registered): Promise<Redirect> {
      let expected: string | undefined
      const expect = (state: string) => state === expected
      const redirect = await listen(registered, expect)
      return {
        url: redirect.redirectUri,
        async visit(page, state) {
          expected = state
          if (show) return Promise.race([redirect.result, show(page).then((params) => params ?? redirect.result)])
          if (!(await tryOpen(page))) printUrl(page, redirect.redirectUri)
          return redirect.result
        },
        close: () => redirect.close(),
      }
    },
  }
}

/** Returns false if the page was not opened, or if the user may not see it. */
async function tryOpen(page: URL): Promise<boolean> {
  try {
    await openBrowser(page)
    return hasDisplay()
  } catch (error) {
    if (error instanceof McpError && error.code === 'spawn-failed') return false
    throw error
  }
}

/** Without a display, the openers of Linux and the BSDs may start a text browser without a terminal. */
function hasDisplay(): boolean {
  if (process.platform === 'darwin' || process.platform === 'win32') return true
  const { DISPLAY, WAYLAND_DISPLAY, BROWSER } = process.env
  return Boolean(DISPLAY || WAYLAND_DISPLAY || BROWSER)
}

/** Writes to stderr, because stdout may carry protocol messages. */
function printUrl(page: URL, redirectUri: string): void {
  const { port } = new URL(redirectUri)
  console.error(`[tenon] To log in, open this URL in a browser on this machine:

  ${toSafeUrl(page)}

To use a browser on another machine, forward port ${port} to this one first (ssh -L ${port}:127.0.0.1:${port} ...). Waiting for the login.`)
}

/** Uses the registered port again if it is free, because not every server accepts another one. */
async function listen(registered: string | undefined, expect: (state: string) => boolean): Promise<AwaitedRedirect> {
  const port = registered === undefined ? 0 : Number(new URL(registered).port)
  if (port > 0) {
    try {
      return await waitForRedirect({ port, expect })
    } catch {
      // The port is in use: takes another one, and the client registers again.
    }
  }
  return waitForRedirect({ expect })
}
