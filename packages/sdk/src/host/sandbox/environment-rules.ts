import { codePointOf } from '../../util/safe-text.ts'
import type { Finding } from '../findings/finding.ts'
import { toExcerpt } from '../findings/visible.ts'
import { danger } from './danger.ts'
import { plainJavaOption, plainNodeOption } from './plain-launcher.ts'
import { privateFiles } from './sensitive-paths.ts'

/** Variables that make a program run code from somewhere else. */
const loaders: readonly (readonly [name: RegExp, value: RegExp])[] = [
  [/^(?:LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|BASH_ENV|PERL5OPT|RUBYOPT|PYTHONSTARTUP|GIT_SSH_COMMAND)$/, /./],
  [/^NODE_OPTIONS$/, /(?:^|\s)(?:-r|--require|--import|--loader|--experimental-loader)\b/],
  [/^(?:JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS)$/, /-(?:javaagent|agentpath|agentlib)/],
]

/** Variables that choose which programs, libraries, packages or settings are used, by name. Some only exist in one letter case. */
const choosers: readonly RegExp[] = [
  /^(?:PATH|PATHEXT|COMSPEC|SYSTEMROOT|WINDIR|HOME|USERPROFILE|APPDATA|XDG_(?:CONFIG|DATA)_\w+|SHELL|EDITOR|VISUAL|PAGER|BROWSER)$/i,
  /^(?:LD|DYLD|NPM_CONFIG|GIT|UV|PIP|PIPX|YARN|PNPM|COREPACK|BUN|DENO|BASH_FUNC|DOTNET|CORECLR|COMPLUS|BUNDLE|GEM|TS_NODE|TSX|LUA|DOCKER|CONTAINERS?|OPENSSL|GLIBC)_/i,
  /^(?:PYTHON|PERL|RUBY|PHP)/i,
  /^(?:ENV|BASH_ENV|BASHOPTS|SHELLOPTS|PS4|PROMPT_COMMAND|IFS|ZDOTDIR|FPATH|CLASSPATH|VIRTUAL_ENV|GCONV_PATH|SSH_ASKPASS)$/i,
  /^(?:NODE_OPTIONS|NODE_PATH|NODE_REPL_EXTERNAL_MODULE|JAVA_HOME|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS)$/i,
  /^GO(?:FLAGS|PROXY|PATH|ROOT|TOOLCHAIN|SUMDB|NOSUMDB|NOSUMCHECK|INSECURE|ENV|PRIVATE|MODCACHE|BIN)$/i,
]

/** Variables with such names that only change texts, and secrets. */
const harmless =
  /^(?:PYTHON(?:UNBUFFERED|IOENCODING|UTF8|DONTWRITEBYTECODE|HASHSEED|TZPATH|NOUSERSITE)|GIT_(?:AUTHOR|COMMITTER)_\w+|DOTNET_ENVIRONMENT|.*(?:TOKEN|PASSWORD|SECRET|_API_KEY|_AUTH_CONFIG))$/i

function canChooseCode(name: string): boolean {
  return !harmless.test(name) && choosers.some((names) => names.test(name))
}

function choosesCode(name: string, value: string): boolean {
  if (!canChooseCode(name)) return false
  const words = value.trim().split(/\s+/)
  if (/^NODE_OPTIONS$/.test(name)) return !words.every((word) => word === '' || plainNodeOption.test(word))
  if (/JAVA_.*OPTIONS$/.test(name)) return !words.every((word) => word === '' || plainJavaOption.test(word))
  return true
}

/** Finds variables that run code, or that point to private files. Values may be secrets, so no finding quotes one of those. */
export function environmentFindings(env: Readonly<Record<string, string>>): Finding[] {
  return Object.entries(env).flatMap(([name, value]) => {
    const where = `environment variable ${name}`
    const text = `${name}=${withVisibleSpaces(value)}`
    if (loaders.some(([names, values]) => names.test(name) && values.test(value)))
      return [danger('high', `The variable ${name} loads more code into the program.`, text, where)]
    const secret = privateFilesIn(value)
    if (secret !== undefined) return [danger('high', `The variable ${name} gives access to ${secret}.`, name, where)]
    if (!choosesCode(name, value)) return []
    const message = `The variable ${name} can change which code runs.`
    return [{ rule: 'unknown-launcher', severity: 'low', where, message, excerpt: toExcerpt(text) }]
  })
}

/**
 * Returns the variables whose values are part of what the user approves: those that can choose or load code, and those that point
 * to private files. Others, such as tokens, may change.
 */
export function approvedVariables(env: Readonly<Record<string, string>>): (readonly [name: string, value: string])[] {
  return Object.entries(env)
    .filter(([name, value]) => canChooseCode(name) || privateFilesIn(value) !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

/** A value of several lines is a key or a certificate, not a path. */
function privateFilesIn(value: string): string | undefined {
  return value.includes('\n') ? undefined : privateFiles(value)
}

/** Excerpts show other white space as one space, and `--allow-command` must not take one value for another. */
function withVisibleSpaces(value: string): string {
  return value.replace(/[\t\r\n]| {2,}/g, (spaces) => Array.from(spaces, (space) => `<${codePointOf(space)}>`).join(''))
}
