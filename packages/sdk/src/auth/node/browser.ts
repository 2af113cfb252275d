import { McpError } from '../../errors.ts'
import { checkSafeUrl } from '../../util/safe-url.ts'
import { scheduler } from '../../util/scheduler.ts'

/** On some systems the opener runs as long as the browser. After this time it has not failed. */
const startedAfterMs = 1_500

/**
 * Opens a URL in the user's browser. Accepts only https: URLs and those of this machine. The URL is passed as a program
 * argument and never to a shell (security best practices; CVE-2025-6514). Rejects with an `McpError` of code `spawn-failed`
 * if no browser can be opened: show the URL then.
 */
export async function openBrowser(page: string | URL): Promise<void> {
  const url = toSafeUrl(page)
  const [command, ...args] = openerOf(process.platform, url)
  const { spawn } = process.getBuiltinModule('node:child_process')
  const child = spawn(command, args, { shell: false, detached: true, stdio: 'ignore' })
  await new Promise<void>((resolve, reject) => {
    const timer = scheduler.setTimeout(resolve, startedAfterMs)
    const fail = (reason: string, options?: ErrorOptions) => {
      scheduler.clearTimeout(timer)
      reject(new McpError('spawn-failed', `The browser could not be opened: ${command} ${reason}.`, options))
    }
    child.on('error', (cause: NodeJS.ErrnoException) => fail(`did not start (${cause.code})`, { cause }))
    child.on('exit', (code, signal) => {
      if (code !== 0) return fail(`exited with ${code ?? signal}`)
      scheduler.clearTimeout(timer)
      resolve()
    })
  })
  child.unref()
}

/** Returns a URL that is safe to pass to a program or to paste into a terminal. Throws on URLs that must not be opened. */
export function toSafeUrl(page: string | URL): string {
  return withoutShellCharacters(checkSafeUrl(page))
}

function openerOf(platform: NodeJS.Platform, url: string): [string, ...string[]] {
  if (platform === 'darwin') return ['open', url]
  if (platform !== 'win32') return ['xdg-open', url]
  // With its full path, because Windows searches the current folder first; not `start`, which is a shell command.
  const { SystemRoot = 'C:\\Windows' } = process.env
  return [`${SystemRoot}\\System32\\rundll32.exe`, 'url.dll,FileProtocolHandler', url]
}

/**
 * Encodes shell characters, because some openers are shell scripts that did not quote them (CVE-2014-9622). Servers decode
 * them again. `&` has to stay, because it separates parameters.
 */
function withoutShellCharacters(href: string): string {
  return href.replace(/[^\w\-.~:/?#[\]@&=+,%]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}
