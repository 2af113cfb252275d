import { createRequire } from 'node:module'
import { Command, CommanderError } from 'commander'
import { exitCodeOf, exitCodes, usageError } from './exit-codes.ts'
import { createOutput, proseWidth } from './output.ts'
import { seenOutput } from './seen-output.ts'

/** Each command is one file, which is loaded only if it is needed: all of them take longer to load than most take to run. Help lists them in this order. */
const commands: ReadonlyMap<string, () => Promise<(program: Command) => void>> = new Map([
  ['list', async () => (await import('./commands/list.ts')).registerList],
  ['info', async () => (await import('./commands/info.ts')).registerInfo],
  ['call', async () => (await import('./commands/call.ts')).registerCall],
  ['task', async () => (await import('./commands/task.ts')).registerTask],
  ['read', async () => (await import('./commands/read.ts')).registerRead],
  ['prompt', async () => (await import('./commands/prompt.ts')).registerPrompt],
  ['complete', async () => (await import('./commands/complete.ts')).registerComplete],
  ['watch', async () => (await import('./commands/watch.ts')).registerWatch],
  ['login', async () => (await import('./commands/login.ts')).registerLogin],
  ['auth', async () => (await import('./commands/auth.ts')).registerAuth],
  ['inspect', async () => (await import('./commands/inspect.ts')).registerInspect],
  ['dev', async () => (await import('./commands/dev.ts')).registerDev],
  ['serve', async () => (await import('./commands/serve.ts')).registerServe],
  ['gateway', async () => (await import('./commands/gateway.ts')).registerGateway],
  ['chat', async () => (await import('./commands/chat.ts')).registerChat],
  ['lint', async () => (await import('./commands/lint.ts')).registerLint],
  ['snapshot', async () => (await import('./commands/snapshot.ts')).registerSnapshot],
  ['diff', async () => (await import('./commands/diff.ts')).registerDiff],
  ['test', async () => (await import('./commands/test.ts')).registerTest],
  ['bench', async () => (await import('./commands/bench.ts')).registerBench],
  ['generate', async () => (await import('./commands/generate.ts')).registerGenerate],
  ['install', async () => (await import('./commands/install.ts')).registerInstall],
  ['pack', async () => (await import('./commands/pack.ts')).registerPack],
  ['init', async () => (await import('./commands/init.ts')).registerInit],
  ['migrate', async () => (await import('./commands/migrate.ts')).registerMigrate],
])

/** Runs the command line, and returns the exit code. */
export async function runCli(args: readonly string[]): Promise<number> {
  const output = createOutput({ json: hasFlag(args, '--json'), color: !hasFlag(args, '--no-color') })
  if (args.length === 0) {
    output.print(...overview)
    return exitCodes.ok
  }
  try {
    await (await createProgram(args)).parseAsync([...args], { from: 'user' })
    for (const crash of seenOutput.crashes) output.note(output.notePaint.warning(`tenon: ${crash}`))
    return Number(process.exitCode ?? exitCodes.ok)
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.ok
    const shown = error instanceof CommanderError ? toUsageError(error) : error
    output.fail(shown)
    return exitCodeOf(shown)
  }
}

const overview = [
  'tenon list node server.js                       show what a server offers',
  'tenon call https://example.com/mcp add a=1 b=2  call a tool',
  'tenon inspect node server.js                    see every message in a browser',
  'tenon dev server.ts                             restart a server on changes',
  'tenon gateway mcp.json --allow-all              serve many servers as one',
  'tenon help <command>                            show the options of a command',
]

/** Creates the program with the command that the arguments name. Help, and messages about mistakes, need all commands. */
async function createProgram([first = '']: readonly string[]): Promise<Command> {
  const program = new Command('tenon')
    .description('Command line for MCP servers')
    .version(versionOf(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .configureHelp({ helpWidth: proseWidth() })
    // Errors are printed in one place, so that --json applies to all of them.
    .configureOutput({ outputError: () => {} })
    .exitOverride()
  for (const load of commandsFor(first)) (await load())(program)
  return program
}

function commandsFor(word: string) {
  if (word === '--version' || word === '-V') return []
  const load = commands.get(word)
  return load ? [load] : [...commands.values()]
}

function versionOf(): string {
  const { version } = createRequire(import.meta.url)('../package.json') as { version: string }
  return version
}

function toUsageError({ message }: CommanderError): Error {
  const hint = '"tenon help" lists the commands, and "tenon help <command>" the options.'
  return usageError(message.replace(/^error: /, ''), hint)
}

/** Also found if the command line is invalid. After `--` it belongs to the server. */
function hasFlag(args: readonly string[], flag: string): boolean {
  const end = args.indexOf('--')
  return (end === -1 ? args : args.slice(0, end)).includes(flag)
}
