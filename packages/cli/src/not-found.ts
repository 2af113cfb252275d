import { CliError, exitCodes } from './exit-codes.ts'
import { similarNames } from './similar.ts'

/** Creates the error for a name that a server does not have, with similar ones, or all that it has. */
export function notFound(kind: string, name: string, names: readonly string[]): CliError {
  const hint = names.length === 0 ? `The server has no ${kind}s.` : listNames(name, names)
  return new CliError('not-found', `The server has no ${kind} "${name}".`, { hint, exitCode: exitCodes.error })
}

/** Names similar ones, or all if there are none: `Similar: files` or `It has: files, mail`. */
export function listNames(name: string, names: readonly string[]): string {
  const similar = similarNames(name, names)
  const shown = similar.length > 0 ? similar : names
  return `${similar.length > 0 ? 'Similar' : 'It has'}: ${shown.slice(0, 10).join(', ')}${shown.length > 10 ? ' ...' : ''}`
}
