import { McpError } from '../../errors.ts'
import { checkSafeUrl } from '../../util/safe-url.ts'

/** What opens a page keeps running with the browser on some systems; by then it has not failed. */
const settledMs = 1_500

/**
 * Opens a page in the user's browser. Only https: pages and those of this machine; the URL is one argument of a program and
 * never meets a shell (security best practices; CVE-2025-6514). Rejects when there is no browser to open: show the URL then.
 */
export async function openBrowser(page: string | URL): Promise<void> {
  const url = safePage(page)
  const [command, ...args] = openerOf(process.platform, url)
  const { spawn } = process.getBuiltinModule('node:child_process')
  const child = spawn(command, args, { shell: false, detached: true, stdio: 'ignore' })
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, settledMs)
    const fail = (why: string, options?: ErrorOptions) => {
      clearTimeout(timer)
      reject(new McpError('spawn-failed', `The browser could not be opened: ${command} ${why}`, options))
    }
    child.on('error', (cause: NodeJS.ErrnoException) => fail(`did not start (${cause.code})`, { cause }))
    child.on('exit', (code, signal) => {
      if (code !== 0) return fail(`ended with ${code ?? signal}`)
      clearTimeout(timer)
      resolve()
    })
  })
  child.unref()
}

/** The URL of a page, as it can be given to a program or pasted into a terminal. Throws on pages that must not be opened. */
export function safePage(page: string | URL): string {
  return withoutShellCharacters(checkSafeUrl(page))
}

function openerOf(platform: NodeJS.Platform, url: string): [string, ...string[]] {
  if (platform === 'darwin') return ['open', url]
  if (platform !== 'win32') return ['xdg-open', url]
  // By its full path, as Windows looks into the current folder first; not by `start`, which belongs to a shell.
  const { SystemRoot = 'C:\\Windows' } = process.env
  return [`${SystemRoot}\\System32\\rundll32.exe`, 'url.dll,FileProtocolHandler', url]
}

/**
 * Some openers are shell scripts themselves and have been careless (CVE-2014-9622). Servers read the encoded characters as
 * the same; `&` has to stay.
 */
function withoutShellCharacters(href: string): string {
  return href.replace(/[^\w\-.~:/?#[\]@&=+,%]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}
