import { CliError, exitCodes } from './exit-codes.ts'

/** Creates the error for a name that a server does not have, with the names that it has. */
export function notFound(kind: string, name: string, names: readonly string[]): CliError {
  const similar = names.filter((each) => isSimilar(each, name))
  const shown = similar.length > 0 ? similar : names
  const list = shown.slice(0, 10).join(', ') + (shown.length > 10 ? ' ...' : '')
  const hint =
    names.length === 0 ? `The server has no ${kind}s.` : `${similar.length > 0 ? 'Similar' : 'It has'}: ${list}`
  return new CliError('not-found', `The server has no ${kind} "${name}".`, { hint, exitCode: exitCodes.error })
}

/** Whether one contains the other, apart from case and punctuation. */
function isSimilar(one: string, other: string): boolean {
  const [a, b] = [one, other].map((name) => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')) as [string, string]
  return b.length > 2 && (a.includes(b) || b.includes(a))
}
