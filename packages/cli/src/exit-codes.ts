import { ErrorCode, HttpError, McpError, PeerError } from 'tenon'

/** The exit codes of all commands. They are part of the public interface, see docs/cli.md. */
export const exitCodes = {
  ok: 0,
  /** The server or the tool answered with an error. */
  error: 1,
  usage: 2,
  /** Cannot connect to a server, or cannot listen. */
  connection: 3,
  /** The server requires authorization, or the action was denied. */
  authorization: 4,
  timeout: 5,
  /** A check found something. */
  checkFailed: 6,
  /** The user pressed Ctrl-C. */
  interrupted: 130,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** Options of `CliError`. */
export interface CliErrorOptions extends ErrorOptions {
  /** What the user can do, in one sentence. */
  readonly hint?: string | undefined
  /** Default 2, usage. */
  readonly exitCode?: ExitCode | undefined
}

/** An error of the command line itself. */
export class CliError extends Error {
  override name = 'CliError'
  /** Identifies the error in the output of `--json`. */
  readonly code: string
  readonly hint: string | undefined
  readonly exitCode: ExitCode

  constructor(code: string, message: string, { hint, exitCode = exitCodes.usage, ...options }: CliErrorOptions = {}) {
    super(message, options)
    this.code = code
    this.hint = hint
    this.exitCode = exitCode
  }
}

/** Creates the error for a command line that cannot be understood. */
export function usageError(message: string, hint?: string): CliError {
  return new CliError('usage', message, { hint })
}

/** The error for an option that is neither ours nor one of a server. */
export class UnknownOption extends CliError {
  override name = 'UnknownOption'

  readonly option: string

  /** @param similar Options that the user may have meant. */
  constructor(option: string, similar: readonly string[] = []) {
    const meant = similar.length > 0 ? `Did you mean ${similar.slice(0, 3).join(' or ')}? ` : ''
    super('usage', `Unknown option: ${option}`, { hint: `${meant}"tenon help <command>" lists the options.` })
    this.option = option
  }
}

/** Whether the server, or its authorization server, refused the credentials or missed them. */
export function isAuthorizationError(error: unknown): error is McpError {
  if (error instanceof HttpError) return isUnauthorized(error)
  return error instanceof McpError && error.code === 'auth'
}

/** What was sent to a URL that refused it. */
export interface SentCredentials {
  /** Whether a login was tried, or a stored one. */
  readonly hasLogin: boolean
  /** The headers of the user, which may have a token. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** Creates the error for a URL that requires a login. */
export function loginRequired(url: string, cause: McpError, { hasLogin, headers }: SentCredentials): CliError {
  const exitCode = exitCodes.authorization
  const hasToken = Object.keys(headers ?? {}).some((name) => name.toLowerCase() === 'authorization')
  if (cause.code === 'auth' && cause.message.startsWith('No login is offered')) {
    const what = hasToken
      ? 'The server does not accept the token'
      : 'This server takes a token that its operator issues'
    const hint = `Ask the operator for a token, and pass it to every command: --header 'Authorization: Bearer <token>'. In a config file, set "headers".`
    return new CliError('auth', `${what}: ${url}`, { hint, exitCode, cause })
  }
  const needsUser = cause.code === 'auth' && cause.message.startsWith('Login required')
  if (cause.code === 'auth' && !needsUser) {
    const hint = `"tenon auth explain ${url}" shows each step.`
    return new CliError('auth', cause.message, { hint, exitCode, cause })
  }
  if (hasToken && !hasLogin) {
    const hint = `Check the token, which may also come from "headers" in the config file, or log in with "tenon login ${url}".`
    return new CliError('auth', `The server rejected the token of --header: ${url}`, { hint, exitCode, cause })
  }
  const isForbidden = cause instanceof HttpError && cause.status === 403
  const what = hasLogin || isForbidden ? 'The server does not accept the login' : 'The server requires a login'
  const hint = `Log in with "tenon login ${url}", or pass a token: --header 'Authorization: Bearer <token>'.`
  return new CliError('auth', `${what}: ${url}`, { hint, exitCode, cause })
}

/** An error as `--json` prints it. */
export interface DescribedError {
  readonly code: string
  readonly message: string
  readonly hint?: string
}

/** Describes an error for the user. */
export function describeError(error: unknown): DescribedError {
  const message = error instanceof Error ? error.message : String(error)
  const hint = hintFor(error)
  const code = error instanceof CliError || error instanceof McpError ? error.code : 'internal'
  return { code, message, ...(hint !== undefined && { hint }) }
}

/** Returns the exit code that an error stands for. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CliError) return error.exitCode
  if (error instanceof HttpError && isUnauthorized(error)) return exitCodes.authorization
  return error instanceof McpError ? (codes[error.code] ?? exitCodes.error) : exitCodes.error
}

const codes: Partial<Record<McpError['code'], ExitCode>> = {
  'invalid-argument': exitCodes.usage,
  http: exitCodes.connection,
  closed: exitCodes.connection,
  'not-connected': exitCodes.connection,
  'spawn-failed': exitCodes.connection,
  'listen-failed': exitCodes.connection,
  'no-common-revision': exitCodes.connection,
  'invalid-response': exitCodes.connection,
  auth: exitCodes.authorization,
  denied: exitCodes.authorization,
  timeout: exitCodes.timeout,
}

const hints: Partial<Record<McpError['code'], string>> = {
  timeout: 'Wait longer with --timeout <seconds>.',
  auth: 'Log in with "tenon login <url>". "tenon auth explain <url>" shows each step.',
  'spawn-failed': 'A target is a URL, a command, a file, or the name of a server in a config file.',
}

function hintFor(error: unknown): string | undefined {
  if (error instanceof CliError) return error.hint
  if (error instanceof HttpError && isUnauthorized(error))
    return 'Log in with "tenon login <url>", or pass a token: --header \'Authorization: Bearer <token>\'.'
  if (error instanceof PeerError && error.rpcCode === ErrorCode.MissingClientCapability)
    return 'The server has a question. Run the command in a terminal to answer it.'
  return error instanceof McpError ? hints[error.code] : undefined
}

function isUnauthorized({ status }: HttpError): boolean {
  return status === 401 || status === 403
}
