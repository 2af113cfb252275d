import { createRequire } from 'node:module'
import { Command, CommanderError } from 'commander'
import { registerAuth } from './commands/auth.ts'
import { registerBench } from './commands/bench.ts'
import { registerCall } from './commands/call.ts'
import { registerChat } from './commands/chat.ts'
import { registerComplete } from './commands/complete.ts'
import { registerDev } from './commands/dev.ts'
import { registerDiff } from './commands/diff.ts'
import { registerGateway } from './commands/gateway.ts'
import { registerGenerate } from './commands/generate.ts'
import { registerInfo } from './commands/info.ts'
import { registerInit } from './commands/init.ts'
import { registerInspect } from './commands/inspect.ts'
import { registerInstall } from './commands/install.ts'
import { registerLint } from './commands/lint.ts'
import { registerList } from './commands/list.ts'
import { registerLogin } from './commands/login.ts'
import { registerMigrate } from './commands/migrate.ts'
import { registerPack } from './commands/pack.ts'
import { registerPrompt } from './commands/prompt.ts'
import { registerRead } from './commands/read.ts'
import { registerServe } from './commands/serve.ts'
import { registerSnapshot } from './commands/snapshot.ts'
import { registerTask } from './commands/task.ts'
import { registerTest } from './commands/test.ts'
import { registerWatch } from './commands/watch.ts'
import { exitCodeOf, exitCodes, usageError } from './exit-codes.ts'
import { createOutput } from './output.ts'

/** Each command is one file, which registers itself. Help lists them in this order. */
const commands: readonly ((program: Command) => void)[] = [
  registerList,
  registerInfo,
  registerCall,
  registerTask,
  registerRead,
  registerPrompt,
  registerComplete,
  registerWatch,
  registerLogin,
  registerAuth,
  registerInspect,
  registerDev,
  registerServe,
  registerGateway,
  registerChat,
  registerLint,
  registerSnapshot,
  registerDiff,
  registerTest,
  registerBench,
  registerGenerate,
  registerInstall,
  registerPack,
  registerInit,
  registerMigrate,
]

/** Runs the command line, and returns the exit code. */
export async function runCli(args: readonly string[]): Promise<number> {
  const output = createOutput({ json: hasFlag(args, '--json'), color: !hasFlag(args, '--no-color') })
  if (args.length === 0) {
    output.print(...overview)
    return exitCodes.ok
  }
  try {
    await createProgram().parseAsync([...args], { from: 'user' })
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

function createProgram(): Command {
  const program = new Command('tenon')
    .description('Command line for MCP servers')
    .version(versionOf(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .configureHelp({ helpWidth: Math.min(process.stdout.columns || 80, 80) })
    // Errors are printed in one place, so that --json applies to all of them.
    .configureOutput({ outputError: () => {} })
    .exitOverride()
  for (const register of commands) register(program)
  return program
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
