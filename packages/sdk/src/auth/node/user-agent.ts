import type { Redirect, UserAgent } from '../client/oauth-session.ts'
import { openBrowser, safePage } from './browser.ts'
import { type AwaitedRedirect, waitForRedirect } from './loopback.ts'

/**
 * The user's own browser, which comes back to this machine (RFC 8252). Where none can be opened, the URL is written to stderr
 * and the user opens it.
 */
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
          if (!(await opens(page))) showPage(page, waiting.redirectUri)
          return waiting.result
        },
        close: () => waiting.close(),
      }
    },
  }
}

/** False where the page was not opened, or where nobody may see that it was. */
async function opens(page: URL): Promise<boolean> {
  try {
    await openBrowser(page)
    return hasScreen()
  } catch (error) {
    if ((error as { code?: unknown }).code === 'spawn-failed') return false
    throw error
  }
}

/** Without a display, openers of Linux and the BSDs may start a browser for terminals, with no terminal. */
function hasScreen(): boolean {
  if (process.platform === 'darwin' || process.platform === 'win32') return true
  const { DISPLAY, WAYLAND_DISPLAY, BROWSER } = process.env
  return Boolean(DISPLAY || WAYLAND_DISPLAY || BROWSER)
}

/** To stderr: stdout may carry messages of the protocol. */
function showPage(page: URL, redirectUri: string): void {
  const { port } = new URL(redirectUri)
  console.error(`[tenon] To log in, open this URL in a browser on this machine:

  ${safePage(page)}

To use a browser on another machine, forward port ${port} to this one first (ssh -L ${port}:127.0.0.1:${port} ...). Waiting for the login.`)
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
