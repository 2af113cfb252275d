import type { Finding } from '../findings/finding.ts'
import { danger } from './danger.ts'
import { privateFiles } from './sensitive-paths.ts'

/** Variables that make a program run code from somewhere else. */
const loaders: readonly (readonly [name: RegExp, value: RegExp])[] = [
  [/^(?:LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|BASH_ENV|PERL5OPT|RUBYOPT|PYTHONSTARTUP|GIT_SSH_COMMAND)$/, /./],
  [/^NODE_OPTIONS$/, /(?:^|\s)(?:-r|--require|--import|--loader|--experimental-loader)\b/],
  [/^(?:JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS)$/, /-(?:javaagent|agentpath|agentlib)/],
]

/** Finds variables that run code, or that point to private files. Values may be secrets, so no finding quotes one of those. */
export function environmentFindings(env: Readonly<Record<string, string>>): Finding[] {
  return Object.entries(env).flatMap(([name, value]) => {
    const where = `environment variable ${name}`
    if (loaders.some(([names, values]) => names.test(name) && values.test(value)))
      return [danger('high', `The variable ${name} loads more code into the program.`, `${name}=${value}`, where)]
    // A value of several lines is a key or a certificate, not a path.
    const secret = value.includes('\n') ? undefined : privateFiles(value)
    return secret === undefined ? [] : [danger('high', `The variable ${name} gives access to ${secret}.`, name, where)]
  })
}
