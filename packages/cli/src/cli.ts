import { createRequire } from 'node:module'
import { Command, CommanderError } from 'commander'
import { commandTable } from './command-table.ts'
import { exitCodeOf, exitCodes, UnknownOption, usageError } from './exit-codes.ts'
import { overview, viewHelp } from './help.ts'
import { createOutput, type Output, proseWidth } from './output.ts'
import { seenOutput } from './seen-output.ts'
import { similarNames } from './similar.ts'

/** Runs the command line, and returns the exit code. */
export async function runCli(args: readonly string[]): Promise<number> {
  const output = createOutput({ json: hasFlag(args, '--json'), color: !hasFlag(args, '--no-color') })
  const [first, second] = args
  if (first === undefined) {
    output.print(...overview)
    return exitCodes.ok
  }
  if (first === '--help' || first === '-h' || (first === 'help' && second === undefined)) {
    output.print(...viewHelp(output))
    return exitCodes.ok
  }
  const program = createProgram(output)
  try {
    await addCommand(program, first === 'help' ? second : first)
    await program.parseAsync([...args], { from: 'user' })
    for (const crash of seenOutput.crashes) output.note(output.notePaint.warning(`tenon: ${crash}`))
    return Number(process.exitCode ?? exitCodes.ok)
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.ok
    const shown = explain(error, program, first)
    output.fail(shown)
    return exitCodeOf(shown)
  }
}

function createProgram(output: Output): Command {
  return (
    new Command('tenon')
      .version(versionOf(), '-V, --version', 'print the version')
      .helpOption('-h, --help', 'print this help')
      .configureHelp({ helpWidth: proseWidth() })
      // Errors are printed in one place, so that --json applies to all of them.
      .configureOutput({ outputError: () => {} })
      .hook('preAction', (program, command) => noteTypos(program, command, output))
      .exitOverride()
  )
}

/**
 * Loads the command that the command line names.
 * @throws CliError with similar commands if there is none
 */
async function addCommand(program: Command, name = ''): Promise<void> {
  if (name.startsWith('-')) return
  const entry = commandTable.get(name)
  if (!entry) {
    const [similar] = similarNames(name, [...commandTable.keys()])
    const meant = similar === undefined ? '' : `Did you mean "tenon ${similar}"? `
    throw usageError(`Unknown command: ${name}`, `${meant}"tenon help" lists the commands.`)
  }
  const register = await entry.load()
  register(program)
  for (const command of program.commands) {
    const { usage = '', summary = '' } = commandTable.get(command.name()) ?? {}
    command.summary(summary).usage(`[options] ${usage}`)
  }
}

/**
 * Options of servers are passed on to them, so a typing error in one of ours is not an error. Says so if an option is very
 * similar to one of ours.
 */
async function noteTypos(program: Command, command: Command, output: Output): Promise<void> {
  const { rawArgs = [] } = program as Command & { readonly rawArgs?: readonly string[] }
  const end = rawArgs.indexOf('--')
  const before = end === -1 ? rawArgs : rawArgs.slice(0, end)
  for (const word of command.args) {
    const [name = ''] = word.split('=')
    if (!/^--\w/.test(name) || !before.includes(word)) continue
    const [similar] = similarOptions(name, command)
    // Only programs have options. With another target it is an error.
    if (similar === undefined || !(await startsProgram(command.args))) continue
    output.note(
      output.notePaint.warning(`tenon: ${name} goes to the server. Did you mean ${similar}?`),
      'Options of the server can follow "--", together with its command.',
    )
  }
}

async function startsProgram([first = '']: readonly string[]): Promise<boolean> {
  if (/^-|^https?:|\.jsonc?$/i.test(first)) return false
  const { findServers } = await import('./config-files.ts')
  return !findServers().some(({ id }) => id === first)
}

function similarOptions(name: string, { options }: Command): string[] {
  return similarNames(
    name,
    options.flatMap(({ long }) => long ?? []),
  )
}

function versionOf(): string {
  const { version } = createRequire(import.meta.url)('../package.json') as { version: string }
  return version
}

/** Adds what the user may have meant to an error about the command line. */
function explain(error: unknown, program: Command, name: string): unknown {
  const command = program.commands.find((each) => each.name() === name)
  if (error instanceof UnknownOption && command)
    return new UnknownOption(error.option, similarOptions(error.option, command))
  if (!(error instanceof CommanderError)) return error
  const hint = command
    ? `"tenon help ${name}" lists the arguments and options.`
    : '"tenon help" lists the commands, and "tenon help <command>" the options.'
  return usageError(error.message.replace(/^error: /, '').replace(/\n/g, ' '), hint)
}

/** Also found if the command line is invalid. After `--` it belongs to the server. */
function hasFlag(args: readonly string[], flag: string): boolean {
  const end = args.indexOf('--')
  return (end === -1 ? args : args.slice(0, end)).includes(flag)
}
