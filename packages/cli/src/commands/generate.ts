import { chmodSync, writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { safeLine } from 'tenon/internal'
import { wrap } from '../columns.ts'
import { readContract } from '../contract/contract.ts'
import { addTarget, findTarget, type TargetFlags } from '../contract/target-command.ts'
import { CliError } from '../exit-codes.ts'
import { writeCli } from '../generate/cli-file.ts'
import { writeClient } from '../generate/client-file.ts'
import { createOutput, type Output } from '../output.ts'
import { openTarget, type Target } from '../target.ts'

interface GenerateFlags extends TargetFlags {
  cli?: boolean
  output?: string
  className?: string
}

/** Registers `tenon generate`: writes a typed client, or a command line, for a server. */
export function registerGenerate(program: Command): void {
  const command = program
    .command('generate')
    .description('write a typed TypeScript client, or a command line, for a server')
    .addHelpText('before', 'Example: tenon generate node server.js --output client.ts\n')
  addTarget(command)
  command
    .option('--cli', 'write a command line (JavaScript) instead of a client')
    .option('-o, --output <file>', 'write to a file instead of stdout')
    .option('--class-name <name>', 'the name of the class. Default: made of the name of the server')
  command.action((words: string[], flags: GenerateFlags) => generate(words, flags, program))
}

async function generate(words: string[], flags: GenerateFlags, program: Command): Promise<void> {
  const output = createOutput(flags)
  const target = findTarget(words, flags, program, output)
  await using client = await openTarget(target, flags)
  const { contract, malformed } = await readContract(client)
  for (const { where, reason } of malformed)
    output.note(...wrap(safeLine(`Left out: ${where}: ${reason}`), output.width))
  const written = flags.cli ? writeCli(contract, target.config) : writeClient(contract, flags.className)
  if (flags.cli) noteSecrets(target, output)
  const { code, ...names } = written
  const language = flags.cli ? 'javascript' : 'typescript'
  if (flags.output === undefined) {
    if (output.isJson) output.printJson({ language, code, ...names })
    else output.print(code.trimEnd())
    return
  }
  write(flags.output, code, flags.cli === true)
  if (output.isJson) output.printJson({ language, file: flags.output, ...names })
  else output.note(`${flags.output}: ${contract.tools.length} tools`)
}

function noteSecrets({ config }: Target, output: Output): void {
  const hasSecrets = 'url' in config ? Object.keys(config.headers ?? {}).length > 0 : 'env' in config
  if (hasSecrets)
    output.note('Headers and environment variables may be secrets, so they are not in the generated file.')
}

function write(path: string, code: string, isExecutable: boolean): void {
  try {
    writeFileSync(path, code)
    if (isExecutable) chmodSync(path, 0o755)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new CliError('write-failed', `Cannot write ${path}: ${reason}`, { cause })
  }
}
