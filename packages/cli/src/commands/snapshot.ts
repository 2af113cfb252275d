import { writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { safeLine } from 'tenon/internal'
import { wrap } from '../columns.ts'
import { readContract } from '../contract/contract.ts'
import { toSnapshot } from '../contract/snapshot.ts'
import { addTarget, findTarget, type TargetFlags } from '../contract/target-command.ts'
import { CliError } from '../exit-codes.ts'
import { createOutput } from '../output.ts'
import { openTarget } from '../target.ts'

interface SnapshotFlags extends TargetFlags {
  output?: string
  resources: boolean
}

/** Registers `tenon snapshot`: writes what a server offers to a file, for `tenon diff`. */
export function registerSnapshot(program: Command): void {
  const command = program
    .command('snapshot')
    .description('write the contract of a server: its tools, prompts, resources and instructions')
    .addHelpText('before', 'Example: tenon snapshot node server.js --output contract.json\n')
  addTarget(command)
  command
    .option('-o, --output <file>', 'write to a file instead of stdout')
    .option('--no-resources', 'leave out the list of resources')
  command.action((words: string[], flags: SnapshotFlags) => snapshot(words, flags, program))
}

async function snapshot(words: string[], flags: SnapshotFlags, program: Command): Promise<void> {
  const output = createOutput(flags)
  const target = findTarget(words, flags, program, output)
  await using client = await openTarget(target, flags)
  const { contract, malformed } = await readContract(client)
  for (const { where, reason } of malformed)
    output.note(...wrap(safeLine(`Left out: ${where}: ${reason}`), output.width))
  const text = toSnapshot(contract, { resources: flags.resources })
  if (flags.output === undefined) return output.print(text.trimEnd())
  write(flags.output, text)
  const { tools, prompts, resourceTemplates, resources } = contract
  const counts = {
    tools: tools.length,
    prompts: prompts.length,
    resourceTemplates: resourceTemplates.length,
    resources: flags.resources ? resources.length : 0,
  }
  if (output.isJson) output.printJson({ file: flags.output, ...counts })
  else output.note(`${flags.output}: ${amount(counts.tools, 'tool')}, ${amount(counts.prompts, 'prompt')}`)
}

function amount(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

function write(path: string, text: string): void {
  try {
    writeFileSync(path, text)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new CliError('write-failed', `Cannot write ${path}: ${reason}`, { cause })
  }
}
