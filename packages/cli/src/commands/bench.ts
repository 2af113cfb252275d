import { type Command, InvalidArgumentError } from 'commander'
import { isObject, safeLine } from 'tenon/internal'
import { Connections } from '../bench/connections.ts'
import { measure } from '../bench/measure.ts'
import { type BenchReport, summarize, viewBench } from '../bench/report.ts'
import { readContract } from '../contract/contract.ts'
import { addTarget, findTarget, type TargetFlags } from '../contract/target-command.ts'
import { exitCodes, usageError } from '../exit-codes.ts'
import { createOutput } from '../output.ts'

interface BenchFlags extends TargetFlags {
  tool?: string
  args?: Record<string, unknown>
  connections: number
  concurrency: number
  duration?: number
  calls?: number
}

/** Registers `tenon bench`: measures how fast a server answers calls of a tool, and what it uses. */
export function registerBench(program: Command): void {
  const command = program
    .command('bench')
    .description('measure calls per second, latency, memory and CPU of a server')
    .addHelpText('before', `Example: tenon bench node server.js --tool add --args '{"a": 1, "b": 2}'\n`)
  addTarget(command)
  command
    .option('--tool <name>', 'the tool to call')
    .option('--args <json>', 'its arguments, as a JSON object', parseArguments)
    .option('--connections <number>', 'how many connections; each of a command has its own process', parseCount, 1)
    .option('--concurrency <number>', 'calls at a time on each connection', parseCount, 1)
    .option('--duration <seconds>', 'stop after this time. Default 5, unless --calls is given', parseDuration)
    .option('--calls <number>', 'stop after this number of calls. Default 1000, unless --duration is given', parseCount)
  command.action((words: string[], flags: BenchFlags) => bench(words, flags, program))
}

async function bench(words: string[], flags: BenchFlags, program: Command): Promise<void> {
  const output = createOutput(flags)
  const target = findTarget(words, flags, program, output)
  await using connections = await Connections.open(target, flags, flags.connections)
  const { clients, pids } = connections
  const { contract } = await readContract(clients[0]!)
  const tool = findTool(flags.tool, contract.tools)
  const { connections: count, concurrency, args = {} } = flags
  const limits = limitsOf(flags)
  const measured = await measure({ clients, pids, tool, args, concurrency, rounds, ...limits })
  const { server, revision } = contract
  const report: BenchReport = {
    server,
    revision,
    tool,
    connections: count,
    concurrency,
    ...summarize(measured),
  }
  if (output.isJson) output.printJson(report)
  else output.print(...viewBench(report, output))
  if (report.errors > 0) process.exitCode = exitCodes.error
}

/** Enough to see a trend, and few enough that measuring costs nothing. */
const rounds = 5

const defaultCalls = 1_000
const defaultMs = 5_000
const maxCalls = 10_000_000
const maxSeconds = 3_600

/** Without options both limits apply; one that is given replaces the default of the other. */
function limitsOf({ duration, calls }: BenchFlags): { maxCalls: number; maxMs: number } {
  if (duration === undefined && calls === undefined) return { maxCalls: defaultCalls, maxMs: defaultMs }
  return { maxCalls: calls ?? maxCalls, maxMs: duration ?? maxSeconds * 1_000 }
}

function findTool(name: string | undefined, tools: readonly { readonly name: string }[]): string {
  if (name !== undefined && tools.some((tool) => tool.name === name)) return name
  const names = tools.slice(0, 20).map((tool) => safeLine(tool.name, 100))
  const hint = names.length === 0 ? 'The server has no tools.' : `The server has: ${names.join(', ')}`
  throw usageError(name === undefined ? 'Pass the tool to call: --tool <name>.' : `There is no tool "${name}".`, hint)
}

function parseArguments(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return { ...value }
  } catch {
    // Reported below.
  }
  throw new InvalidArgumentError(`Pass a JSON object: --args '{"a": 1}'.`)
}

function parseCount(text: string): number {
  const count = Number(text)
  if (/^\d+$/.test(text) && count >= 1 && count <= maxCalls) return count
  throw new InvalidArgumentError('Pass a whole number, at least 1.')
}

function parseDuration(text: string): number {
  const seconds = Number(text)
  if (text.trim() !== '' && seconds > 0 && seconds <= maxSeconds) return seconds * 1_000
  throw new InvalidArgumentError(`Pass a number of seconds, at most ${maxSeconds}.`)
}
