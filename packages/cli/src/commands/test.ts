import type { Command } from 'commander'
import { isLoopbackHost } from 'tenon/internal'
import { type ReadContract, readContract } from '../contract/contract.ts'
import { addTarget, findTarget, type TargetFlags } from '../contract/target-command.ts'
import { CliError, exitCodes, usageError } from '../exit-codes.ts'
import { createOutput, type Output } from '../output.ts'
import { openTarget, type Target } from '../target.ts'
import { runAttack } from '../test/attack/run-attack.ts'
import { createBridge } from '../test/bridge.ts'
import type { CheckResult } from '../test/check.ts'
import { runConformance } from '../test/conformance.ts'
import { countResults, ResultPrinter, type TestReport } from '../test/report.ts'
import { Suite } from '../test/suite.ts'

interface TestFlags extends TargetFlags {
  attack?: boolean
  callTools?: boolean
  conformance: boolean
  download: boolean
  iOwnThisServer?: boolean
}

/** Registers `tenon test`: the official conformance scenarios, and with `--attack` our own safety checks. */
export function registerTest(program: Command): void {
  const command = program
    .command('test')
    .description('run the official conformance scenarios, and safety checks, against a server')
    .addHelpText('before', 'Example: tenon test node server.js --attack\n')
  addTarget(command)
  command
    .option('--attack', 'run the safety checks as well: hostile messages, headers, names, paths and arguments')
    .option('--call-tools', 'also call tools without readOnlyHint, with invalid and hostile arguments')
    .option('--no-conformance', 'leave out the official scenarios')
    .option('--no-download', 'do not download the official suite if it is not installed')
    .option('--i-own-this-server', 'allow --attack for a server that is not on this machine')
  command.action((words: string[], flags: TestFlags) => test(words, flags, program))
}

/** How long a single answer may take, unless `--timeout` says otherwise. */
const defaultTimeoutMs = 15_000

async function test(words: string[], flags: TestFlags, program: Command): Promise<void> {
  const output = createOutput(flags)
  const target = findTarget(words, flags, program, output)
  checkFlags(target, flags)
  const known = await examine(target, flags)
  const { server, revision } = known.contract
  const checks: CheckResult[] = []
  const printer = output.isJson ? undefined : new ResultPrinter(output, { server, revision })
  const onResult = (result: CheckResult) => {
    checks.push(result)
    printer?.print(result)
  }
  const suite = flags.conformance ? await testConformance(target, known, flags, onResult, output) : null
  if (flags.attack) await testSafety(target, known, flags, onResult)
  const counts = countResults(checks)
  const report: TestReport = { server, revision, ok: counts.fail === 0, suite, counts, checks }
  printer?.finish(report)
  if (output.isJson) output.printJson(report)
  if (counts.fail > 0) process.exitCode = exitCodes.checkFailed
}

function checkFlags({ config }: Target, flags: TestFlags): void {
  if (!flags.conformance && !flags.attack) throw usageError('There is nothing to run.', 'Add --attack.')
  if (!flags.attack || !('url' in config) || isLoopbackHost(new URL(config.url).hostname) || flags.iOwnThisServer)
    return
  throw new CliError('not-your-server', `--attack sends hostile requests, and ${config.url} is not on this machine.`, {
    hint: 'Pass --i-own-this-server if you may do that.',
  })
}

/** What the server says about itself. */
async function examine(target: Target, flags: TestFlags) {
  await using client = await openTarget(target, flags)
  const { contract }: ReadContract = await readContract(client)
  return { contract, capabilities: client.server.capabilities }
}

type Known = Awaited<ReturnType<typeof examine>>
type OnResult = (result: CheckResult) => void

/** Runs the official scenarios. If there are safety checks to run as well, a missing suite is one skipped check. */
async function testConformance(
  { config }: Target,
  known: Known,
  { attack, callTools = false, download, timeout = defaultTimeoutMs }: TestFlags,
  onResult: OnResult,
  output: Output,
): Promise<string | null> {
  if ('url' in config && Object.keys(config.headers ?? {}).length > 0) {
    const reason = 'The official suite cannot send the headers that the server needs.'
    onResult({ group: 'conformance', name: 'official-scenarios', status: 'skip', reason })
    return null
  }
  const bridge = 'command' in config ? await createBridge(config) : undefined
  const url = bridge?.url ?? ('url' in config ? config.url : '')
  try {
    const suite = Suite.find({ download })
    const how = suite.isInstalled ? '' : ' with npx (not installed)'
    output.note(`Running the conformance suite ${suite.version}${how} ...`)
    const subject = { ...known, url, isBridged: bridge !== undefined, mayCallTools: callTools, timeoutMs: timeout }
    await runConformance(suite, subject, onResult)
    return suite.version
  } catch (error) {
    if (!attack || !(error instanceof CliError)) throw error
    onResult({ group: 'conformance', name: 'official-scenarios', status: 'skip', reason: error.message })
    return null
  } finally {
    await bridge?.close()
  }
}

function testSafety(
  { config }: Target,
  known: Known,
  { callTools = false, header = {}, timeout = defaultTimeoutMs }: TestFlags,
  onResult: OnResult,
): Promise<void> {
  const subject = { ...known, config, headers: header, mayCallTools: callTools, timeoutMs: timeout }
  return runAttack(subject, onResult)
}
