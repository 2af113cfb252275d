import type { Command } from 'commander'
import { findLogin, forgetLogin, oauth, type StoredLogin } from 'tenon/auth/client'
import { connect } from 'tenon/client'
import { safeLine } from 'tenon/internal'
import { loginStore, showLogin, storeWithoutLogin } from '../auth/credentials.ts'
import { wrap } from '../columns.ts'
import { isAuthorizationError, loginRequired } from '../exit-codes.ts'
import {
  addColorOption,
  addHostTargetOptions,
  addJsonOption,
  addTraceOption,
  type ConfigFlags,
  type ConnectionFlags,
  type OutputFlags,
} from '../options.ts'
import { createOutput, type Output } from '../output.ts'
import { tracePrinter } from '../print-trace.ts'
import { urlOf } from '../target.ts'

interface LoginFlags extends OutputFlags, ConfigFlags, ConnectionFlags {
  browser: boolean
  clientId?: string
  scope?: string[]
}

/** Registers `tenon login` and `tenon logout`. */
export function registerLogin(program: Command): void {
  const login = program
    .command('login')
    .description('log in to a server; every command uses the login from then on')
    .addHelpText('before', 'Example: tenon login https://example.com/mcp\n')
    .argument('<url>', 'the URL of a server, or its name in a config file')
    .option('--scope <scope...>', 'scopes to request besides those that the server requires')
    .option('--client-id <id>', 'a client that you registered at the authorization server')
    .option('--no-browser', 'print the URL of the login page instead of opening it')
  addHostTargetOptions(login)
  addTraceOption(login)
  addJsonOption(login)
  addColorOption(login)
  login.action((word: string, flags: LoginFlags) => logIn(word, flags))
  const logout = program
    .command('logout')
    .description('forget the login of a server')
    .addHelpText('before', 'Example: tenon logout https://example.com/mcp\n')
    .argument('<url>', 'the URL of a server, or its name in a config file')
    .option('--config <file>', 'the config file with the servers')
  addJsonOption(logout)
  addColorOption(logout)
  logout.action((word: string, flags: OutputFlags & ConfigFlags) => logOut(word, flags))
}

async function logIn(word: string, flags: LoginFlags): Promise<void> {
  const output = createOutput(flags)
  const { url, headers } = urlOf(word, flags)
  const store = loginStore()
  let isNew = false
  const showPage = (page: URL) => {
    isNew = true
    return showLogin(page, { output, opensBrowser: flags.browser })
  }
  const { clientId, scope = [], timeout } = flags
  const before = await findLogin(url, store)
  // A login that lacks scopes is replaced by one that has its scopes and the new ones.
  const isWider = before !== undefined && scope.some((each) => !before.scopes.includes(each))
  const scopes = isWider ? [...new Set([...before.scopes, ...scope])] : scope
  const auth = oauth({ store: isWider ? await storeWithoutLogin(url, store) : store, showPage, scopes, clientId })
  const limits = timeout === undefined ? {} : { connectTimeoutMs: timeout, request: { timeoutMs: timeout } }
  const trace = flags.trace ? { trace: tracePrinter(output) } : {}
  try {
    await using _client = await connect(url, { auth, headers, reconnect: { maxRetries: 1 }, ...limits, ...trace })
  } catch (error) {
    throw isAuthorizationError(error) ? loginRequired(url, error, { hasLogin: true, headers }) : error
  }
  const login = await findLogin(url, store)
  const missing = login ? scope.filter((each) => !login.scopes.includes(each)) : []
  if (missing.length > 0) {
    const text = `The authorization server did not grant the scopes ${missing.join(', ')}.`
    output.note(...wrap(safeLine(text, 1_000), output.width).map((line) => output.notePaint.warning(line)))
  }
  if (output.isJson) output.printJson({ url, login: login ? describe(login) : null, isNew })
  else output.print(...wrap(sentenceFor(url, login, isNew), output.width))
}

function describe({ expiresAt, ...login }: StoredLogin) {
  return { ...login, expiresAt: expiresAt === undefined ? null : new Date(expiresAt).toISOString() }
}

function sentenceFor(url: string, login: StoredLogin | undefined, isNew: boolean): string {
  if (!login) return `${url} requires no login.`
  const scopes = login.scopes.length > 0 ? ` with the scopes ${login.scopes.join(', ')}` : ''
  const where = safeLine(`at ${login.issuer}${scopes}`, 1_000)
  if (!isNew) return `You are logged in already ${where}. To log in as another user, run "tenon logout ${url}" first.`
  const end =
    login.isRefreshable || login.expiresAt === undefined ? '' : ` until ${new Date(login.expiresAt).toISOString()}`
  return `Logged in ${where}${end}.`
}

async function logOut(word: string, flags: OutputFlags & ConfigFlags): Promise<void> {
  const output: Output = createOutput(flags)
  const { url } = urlOf(word, flags)
  const wasLoggedIn = await forgetLogin(url, loginStore())
  if (output.isJson) output.printJson({ url, wasLoggedIn })
  else output.print(wasLoggedIn ? `Logged out of ${url}.` : `There is no login for ${url}.`)
}
