import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import type { Command } from 'commander'
import { DevServer } from '../dev/dev-server.ts'
import { serveHttpClients } from '../dev/http-clients.ts'
import type { Program } from '../dev/server-process.ts'
import { serveStdioClient } from '../dev/stdio-client.ts'
import { usageError } from '../exit-codes.ts'
import { openInspector } from '../inspector/open-inspector.ts'
import { addColorOption, type OutputFlags, parsePort } from '../options.ts'
import { createOutput, type Output } from '../output.ts'
import { programOf } from '../program-of.ts'
import { untilStopped } from '../stop-signal.ts'
import type { TargetWords } from '../target.ts'
import { addTargetArgument, wordsOf } from '../words.ts'

interface DevFlags extends OutputFlags {
  http?: boolean
  port?: number
  watch?: string[]
  inspect?: boolean
}

/** Registers `tenon dev`: runs a server, and restarts it on changes while its clients stay connected. */
export function registerDev(program: Command): void {
  const command = program
    .command('dev')
    .description('run a server, and restart it on changes without losing the session')
    .addHelpText('before', 'Example: tenon dev ./server.ts\n')
    .option('--http', 'serve over HTTP instead of stdin and stdout')
    .option('--port <number>', 'the port for --http; 0 picks a free one (default: 3000)', parsePort)
    .option('--watch <path>', 'another file or folder to watch (repeatable)', (path, all: string[] = []) => [
      ...all,
      path,
    ])
    .option('--inspect', 'serve the inspector too')
  addTargetArgument(command, 'file', 'the file of a server over stdio, or a command after "--"')
  addColorOption(command)
  command.action((words: string[], flags: DevFlags) => runDev(wordsOf(words, program), flags))
}

async function runDev(target: TargetWords, flags: DevFlags): Promise<void> {
  const output = createOutput(flags)
  if (flags.port !== undefined && !flags.http) throw usageError('--port is for --http.', 'Add --http.')
  const missing = flags.watch?.find((path) => !existsSync(path))
  if (missing !== undefined) throw usageError(`File or folder not found: ${missing}`)
  const { program, file } = chooseProgram(target, flags)
  const server = new DevServer({ program, file, watch: flags.watch ?? [], output })
  const stopped = untilStopped()
  try {
    const http = flags.http || flags.inspect ? await serveHttpClients(server, httpPort(flags)) : undefined
    const inspector = flags.inspect && http ? await openInspector(http.url, output) : undefined
    if (flags.http && http) output.print(http.url)
    else sayHello(output, program)
    await (flags.http ? stopped : Promise.race([stopped, serveStdioClient(server)]))
    await inspector?.close()
    await http?.close()
  } finally {
    await server.close()
  }
  // The client may keep stdin open.
  process.exit()
}

/** With `--inspect`, a client over stdio has the usual way, and only the inspector uses the port. */
function httpPort({ http, port }: DevFlags): number {
  return port ?? (http ? 3000 : 0)
}

function sayHello(output: Output, { label }: Program): void {
  if (process.stdin.isTTY !== true) return
  output.note(
    `${label} is an MCP server on stdin and stdout, waiting for a client.`,
    'Add this command to the config of your host, or serve it with --http.',
  )
}

function chooseProgram({ words, isCommand }: TargetWords, { watch }: DevFlags): { program: Program; file?: string } {
  const [first, ...args] = words
  if (first === undefined) throw usageError('No server was given.', 'Pass its file: tenon dev ./server.ts')
  // The server takes the place that it has without this program, so it gets the same environment.
  const env = Object.fromEntries(Object.entries(process.env).filter((entry): entry is [string, string] => !!entry[1]))
  if (!isCommand) return { program: { ...runnable(first, args), env, label: basename(first) }, file: first }
  if (watch === undefined)
    throw usageError('A command needs --watch.', `Example: tenon dev --watch src -- ${words.join(' ')}`)
  return { program: { command: first, args, env, label: basename(first) } }
}

function runnable(file: string, args: readonly string[]): Pick<Program, 'command' | 'args'> {
  if (/^https?:/i.test(file))
    throw usageError('A server at a URL cannot be restarted.', 'Pass its file: tenon dev ./server.ts')
  if (!existsSync(file))
    throw usageError(`File not found: ${file}`, 'A command goes after "--": tenon dev --watch src -- node server.js')
  const { command, args: all } = programOf(file, args)
  return { command, args: all }
}
