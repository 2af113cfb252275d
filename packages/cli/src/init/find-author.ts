import { execFileSync } from 'node:child_process'
import { userInfo } from 'node:os'

/** The author of a new project: the name that git knows, otherwise that of the account. */
export function findAuthor(): string {
  return gitName() || accountName() || 'unknown'
}

function gitName(): string {
  try {
    return execFileSync('git', ['config', 'user.name'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    // There is no git, or no name.
    return ''
  }
}

function accountName(): string {
  try {
    return userInfo().username
  } catch {
    return ''
  }
}
