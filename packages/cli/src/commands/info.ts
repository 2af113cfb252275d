import type { Command } from 'commander'
import { connectTarget } from '../connect-target.ts'
import { viewInfo } from '../list/info-view.ts'
import { type InfoChoice, readInfo } from '../list/read-info.ts'
import { addCommonOptions, type CommonFlags } from '../options.ts'
import { createOutput } from '../output.ts'
import { addTargetArgument, wordsOf } from '../words.ts'

type InfoFlags = CommonFlags & InfoChoice

/** Registers `tenon info`: describes a server, or one of its tools, prompts or resources, completely. */
export function registerInfo(program: Command): void {
  const command = program
    .command('info')
    .description('describe a server, or one of its tools, prompts or resources, completely')
    .addHelpText('before', 'Example: tenon info node server.js --tool add\n')
    .option('--tool <name>', 'show the arguments, schemas and annotations of a tool')
    .option('--prompt <name>', 'show a prompt and its arguments')
    .option('--resource <uri>', 'show a resource or a resource template')
  addTargetArgument(command, 'target', 'a URL, a command, a file, or the name of a server in a config file')
  addCommonOptions(command)
  command.action((words: string[], flags: InfoFlags) => info(words, flags, program))
}

async function info(words: string[], flags: InfoFlags, program: Command): Promise<void> {
  const output = createOutput(flags)
  await using client = await connectTarget(wordsOf(words, program), flags, output)
  const found = await readInfo(client, flags)
  if (output.isJson) output.printJson(found)
  else output.print(...viewInfo(found, output))
}
