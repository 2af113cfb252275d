import { createInterface } from 'node:readline'
import {
  fileTokenStore,
  findLogin,
  forgetLogin,
  oauth,
  openBrowser,
  type ShownPage,
  type TokenStore,
} from 'tenon/auth/client'
import type { ConnectOptions } from 'tenon/client'
import type { ServerConfig, ServerConfigs } from 'tenon/host'
import { safeText } from 'tenon/internal'
import type { Output } from '../output.ts'

/** Logins of all commands are in one file, which only the user can read. */
export function loginStore(): TokenStore {
  return fileTokenStore()
}

/**
 * Returns a store without the login of a server, for a new login that replaces it. The old one stays in `store` until there is a
 * new one, so that a login that the user gives up changes nothing.
 */
export async function storeWithoutLogin(url: string, store: TokenStore): Promise<TokenStore> {
  const hidden = new Set<string>()
  const masked: TokenStore = {
    get: async (key) => (hidden.has(key) ? undefined : store.get(key)),
    set: (key, value) => {
      hidden.delete(key)
      return store.set(key, value)
    },
    delete: async (key) => void hidden.add(key),
    lock: (key, work) => store.lock(key, work),
  }
  await forgetLogin(url, masked)
  return masked
}

/** Options of `credentialsFor`. */
export interface CredentialOptions {
  /** Headers that are sent to the server. If there is an `Authorization`, no login is used. */
  readonly headers: Readonly<Record<string, string>>
  /** True to let the user log in. */
  readonly auth: boolean
  readonly output: Output
}

/** Returns the credentials for a URL: the stored login, or a new one with `--auth`. Undefined if there is neither. */
export async function credentialsFor(url: string, options: CredentialOptions): Promise<ConnectOptions['auth']> {
  const { headers, auth, output } = options
  if (!auth || !mayUseLogin(url, headers)) return storedLogin(url, headers)
  return oauth({ store: loginStore(), showPage: (page) => showLogin(page, { output, opensBrowser: true }) })
}

/** Adds the stored logins to servers with a URL, unless they have credentials. */
export async function withLogins(servers: ServerConfigs): Promise<ServerConfigs> {
  const entries = Object.entries(servers).map(async ([id, config]) => [id, await withLogin(config)] as const)
  return Object.fromEntries(await Promise.all(entries))
}

async function withLogin(config: ServerConfig): Promise<ServerConfig> {
  if (!('url' in config) || config.auth) return config
  const auth = await storedLogin(config.url, config.headers ?? {})
  return auth ? { ...config, auth } : config
}

/** The stored login for a URL. A header with credentials replaces it. */
async function storedLogin(url: string, headers: Readonly<Record<string, string>>): Promise<ConnectOptions['auth']> {
  const store = loginStore()
  if (!mayUseLogin(url, headers) || !(await findLogin(url, store))) return undefined
  return oauth({ store, interactive: false })
}

function mayUseLogin(url: string, headers: Readonly<Record<string, string>>): boolean {
  return URL.canParse(url) && !Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')
}

/** Options of `showLogin`. */
export interface ShowOptions {
  readonly output: Output
  /** False to print the URL only. */
  readonly opensBrowser: boolean
}

/**
 * Shows the login page: opens the browser, and prints the URL. On a terminal the user may paste the URL that the browser ended
 * up at, which helps if the browser runs on another machine.
 */
export async function showLogin(page: URL, { output, opensBrowser }: ShowOptions): Promise<ShownPage> {
  const isOpen = opensBrowser && (await tryOpen(page))
  const how = isOpen ? 'Log in with the browser that was opened, or open this URL:' : 'To log in, open this URL:'
  output.note(how, '', `  ${safeText(page.href)}`, '')
  if (process.stdin.isTTY !== true) return output.note('Waiting for the login.')
  output.note('Waiting for the login. If the browser cannot open the last page, paste its', 'address here.')
  return pastedUrl()
}

async function tryOpen(page: URL): Promise<boolean> {
  const { DISPLAY, WAYLAND_DISPLAY, BROWSER } = process.env
  const hasDisplay = process.platform === 'darwin' || process.platform === 'win32'
  if (!hasDisplay && !DISPLAY && !WAYLAND_DISPLAY && !BROWSER) return false
  return openBrowser(page).then(
    () => true,
    () => false,
  )
}

/** Resolves with the first line that is a URL with a query. Never resolves if the user does not paste one. */
function pastedUrl(): Promise<string> {
  const lines = createInterface({ input: process.stdin, terminal: false })
  // Waiting for a line must not keep the program alive after the login.
  process.stdin.unref()
  return new Promise((resolve) => {
    lines.on('line', (line) => {
      const text = line.trim()
      if (!URL.canParse(text) || !new URL(text).search) return
      lines.close()
      resolve(text)
    })
  })
}
