import type { Command } from 'commander'
import type { CompleteParams } from 'tenon'
import { safeLine } from 'tenon/internal'
import { parseTextWords } from '../arguments/parse-words.ts'
import { connectTarget } from '../connect-target.ts'
import { usageError } from '../exit-codes.ts'
import { addCommonOptions, type CommonFlags } from '../options.ts'
import { createOutput } from '../output.ts'
import { splitWords } from '../words.ts'

/** Registers `tenon complete`: suggests values for an argument of a prompt or a variable of a resource template. */
export function registerComplete(program: Command): void {
  const command = program
    .command('complete')
    .description('suggest values for an argument of a prompt, or a variable of a resource template')
    .addHelpText(
      'before',
      "Example: tenon complete https://example.com/mcp review language=py\n         tenon complete https://example.com/mcp 'notes://{day}' day=\n",
    )
    .argument('[target]', 'a URL, a file, or the name of a server in a config file; a command follows "--"')
    .argument('[name]', 'a prompt, or a URI template')
    .argument('[key=start]', 'the argument to complete, with the beginning of its value')
    .argument('[key=value...]', 'the values of other arguments')
  addCommonOptions(command)
  command.action(() => complete(command.args, command.opts<CommonFlags>(), program))
}

async function complete(words: readonly string[], flags: CommonFlags, program: Command): Promise<void> {
  const output = createOutput(flags)
  const { target, rest } = splitWords(words, program)
  const params = readParams(rest)
  await using client = await connectTarget(target, flags, output)
  const { values, total, hasMore = false } = await client.complete(params)
  if (output.isJson) return output.printJson({ values, ...(total !== undefined && { total }), hasMore })
  if (values.length > 0) output.print(...values.map((value) => safeLine(value, 2_000)))
  else output.note('The server suggests nothing.')
  if (hasMore) output.note(total === undefined ? 'There are more.' : `There are ${total} in total.`)
}

function readParams([name, first, ...others]: readonly string[]): CompleteParams {
  if (name === undefined || first === undefined) {
    throw usageError('Nothing to complete.', 'Write: tenon complete <target> <prompt or template> <argument>=<start>')
  }
  const [argument = '', value = ''] = Object.entries(parseTextWords([first]))[0] ?? []
  const context = parseTextWords(others)
  const ref = isTemplate(name)
    ? ({ type: 'ref/resource', uri: name } as const)
    : ({ type: 'ref/prompt', name } as const)
  return {
    ref,
    argument: { name: argument, value },
    ...(others.length > 0 && { context: { arguments: context } }),
  }
}

/** A URI has a scheme; names of prompts do not look like that. */
function isTemplate(name: string): boolean {
  return /^[a-z][a-z\d+.-]*:/i.test(name) || name.includes('{')
}
