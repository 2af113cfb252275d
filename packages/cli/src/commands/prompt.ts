import type { Command } from 'commander'
import { safeLine } from 'tenon/internal'
import { parseTextWords } from '../arguments/parse-words.ts'
import { connectTarget } from '../connect-target.ts'
import { usageError } from '../exit-codes.ts'
import { promptOrSimilar } from '../find-missing.ts'
import { addCommonOptions, type CommonFlags } from '../options.ts'
import { createOutput } from '../output.ts'
import { type ContentFlags, ContentWriter } from '../results/show-content.ts'
import { splitWords } from '../words.ts'

type PromptFlags = CommonFlags & ContentFlags

/** Registers `tenon prompt`: gets the messages of a prompt. */
export function registerPrompt(program: Command): void {
  const command = program
    .command('prompt')
    .description('get the messages of a prompt')
    .addHelpText('before', 'Example: tenon prompt https://example.com/mcp review language=python\n')
    .argument('[target]', 'a URL, a file, or the name of a server in a config file; a command follows "--"')
    .argument('[prompt]', 'the name of a prompt')
    .argument('[key=value...]', 'its arguments')
    .option('--output <folder>', 'save images, audio and other files there')
  addCommonOptions(command)
  command.action(() => getPrompt(command.args, command.opts<PromptFlags>(), program))
}

async function getPrompt(words: readonly string[], flags: PromptFlags, program: Command): Promise<void> {
  const output = createOutput(flags)
  const { target, rest } = splitWords(words, program)
  const [name, ...pairs] = rest
  if (name === undefined) throw usageError('No prompt was named.', 'Write: tenon prompt <target> <prompt> key=value')
  const args = parseTextWords(pairs)
  await using client = await connectTarget(target, flags, output)
  const { description, messages } = await promptOrSimilar(client.getPrompt(name, args), name, client)
  const writer = new ContentWriter(output, flags, name)
  for (const { role, content } of messages) {
    // A single message is usually piped into something else.
    if (!output.isJson && messages.length > 1) output.print(output.paint.strong(`${safeLine(role, 100)}:`))
    writer.block(content)
  }
  if (output.isJson)
    output.printJson({ ...(description !== undefined && { description }), messages, files: writer.files })
}
