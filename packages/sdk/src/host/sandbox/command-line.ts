import type { Finding } from '../findings/finding.ts'
import { toExcerpt } from '../findings/visible.ts'
import { argumentFindings, commandRules, pipelineFindings } from './command-rules.ts'
import { assignmentsOf, commandsOf, type SimpleCommand } from './commands.ts'
import { environmentFindings } from './environment-rules.ts'
import { lookAlikeFindings, packageFindings } from './packages.ts'
import { isPlainLauncher } from './plain-launcher.ts'
import type { Launch } from './sandbox.ts'
import { hasInvisible, showInvisible } from './shell-escapes.ts'

/**
 * Returns the complete command line, for the user to read before it runs. Nothing is left out, characters that are not shown
 * are escaped, and the text can be copied into a shell (`$'...'` needs bash, zsh or ksh). It starts with `cd` if the command
 * has a folder, because the folder decides which files relative names mean. Environment variables are not in it, because
 * they may be secrets.
 *
 * @example
 * describeCommand({ command: 'node', args: ['my server.js'], env: {}, cwd: undefined }) // node 'my server.js'
 */
export function describeCommand(launch: Pick<Launch, 'command' | 'args' | 'cwd'>): string {
  // In front of a command, a shell would take NAME=value as a variable.
  const words = [quote(launch.command, /^[\w@%+:,./-]+$/), ...launch.args.map((arg) => quote(arg))].join(' ')
  return launch.cwd === undefined ? words : `cd ${quote(launch.cwd)} && ${words}`
}

function quote(word: string, plain = /^[\w@%+=:,./-]+$/): string {
  if (plain.test(word)) return word
  if (!hasInvisible(word)) return `'${word.replaceAll("'", `'\\''`)}'`
  return `$'${showInvisible(word.replaceAll('\\', '\\\\').replaceAll("'", "\\'"))}'`
}

/**
 * Finds dangerous patterns in a command, for the user to see before it runs. A command without findings can still do harm.
 *
 * @example
 * commandFindings({ command: 'bash', args: ['-c', 'curl https://a.example | sh'], env: {}, cwd: undefined })
 */
export function commandFindings(launch: Launch): Finding[] {
  const words = [launch.command, ...launch.args]
  const { commands, pipelines } = commandsOf(words)
  const findings = [
    ...hiddenText(launch),
    ...commands.flatMap(lookAlikeFindings),
    ...commands.flatMap((command) => [...rulesOf(command), ...packageFindings(command)]),
    ...pipelines.flatMap(pipelineFindings),
    ...argumentFindings(launch),
    // They are part of the command that the user sees.
    ...environmentFindings(assignmentsOf(words)).map((finding) => ({ ...finding, where: 'command' })),
  ]
  const isHigh = findings.some(({ severity }) => severity === 'high')
  return unique([
    ...findings,
    ...(isHigh || isPlainLauncher(launch) ? [] : [unknownLauncher(launch)]),
    ...environmentFindings(launch.env),
  ])
}

function unknownLauncher(launch: Launch): Finding {
  const message = 'It is not known what this kind of command runs. Read all of it.'
  return {
    rule: 'unknown-launcher',
    severity: 'low',
    where: 'command',
    message,
    excerpt: toExcerpt(describeCommand(launch)),
  }
}

function rulesOf(command: SimpleCommand): Finding[] {
  return commandRules.flatMap((rule) => rule(command) ?? [])
}

function hiddenText({ command, args }: Launch): Finding[] {
  // Line breaks and tabs are ordinary in a script that is an argument.
  const hidden = [command, ...args].find((word) => hasInvisible(word.replace(/[\t\n\r]/g, '')))
  if (hidden === undefined) return []
  return [
    {
      rule: 'hidden-text',
      severity: 'high',
      where: 'command',
      message: 'The command contains invisible characters, so it differs from what you see.',
      excerpt: toExcerpt(hidden),
    },
  ]
}

/** The same pattern is often found in a script and in the argument that contains it. */
function unique(findings: readonly Finding[]): Finding[] {
  const seen = new Map(findings.map((finding) => [`${finding.severity} ${finding.message}`, finding]))
  return [...seen.values()]
}
