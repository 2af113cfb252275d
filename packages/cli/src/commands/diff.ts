import type { Command } from 'commander'
import { addCommonOptions, type TargetFlags } from '../contract/target-command.ts'
import { diffContracts } from '../diff/contract-diff.ts'
import { toReport, viewDiff } from '../diff/report.ts'
import { readSide } from '../diff/side.ts'
import { exitCodes } from '../exit-codes.ts'
import { createOutput } from '../output.ts'

interface DiffFlags extends TargetFlags {
  resources: boolean
}

/** Registers `tenon diff`: compares two contracts, and fails if a change breaks clients. */
export function registerDiff(program: Command): void {
  const command = program
    .command('diff')
    .description('compare two contracts: what breaks clients, what does not, and what is cosmetic')
    .addHelpText('before', 'Example: tenon diff contract.json "node server.js"\n')
    .argument('<old>', 'a snapshot file, a URL, a name of a config file, or a command as one word')
    .argument('<new>', 'the same')
  addCommonOptions(command)
  command.option('--no-resources', 'ignore the list of resources')
  command.action((before: string, after: string, flags: DiffFlags) => diff(before, after, flags))
}

async function diff(before: string, after: string, flags: DiffFlags): Promise<void> {
  const output = createOutput(flags)
  const sides = { before: await readSide(before, flags, output), after: await readSide(after, flags, output) }
  const none = flags.resources ? {} : { resources: [] }
  const changes = diffContracts({ ...sides.before, ...none }, { ...sides.after, ...none })
  if (sides.before.revision !== sides.after.revision)
    output.note(`Read in different revisions: ${sides.before.revision} and ${sides.after.revision}.`)
  const report = toReport(changes)
  if (output.isJson) output.printJson(report)
  else output.print(...viewDiff(report, output))
  if (report.counts.breaking > 0) process.exitCode = exitCodes.checkFailed
}
