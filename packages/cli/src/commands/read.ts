import type { Command } from 'commander'
import { UriTemplate } from 'tenon/server'
import { parseTextWords } from '../arguments/parse-words.ts'
import { connectTarget } from '../connect-target.ts'
import { usageError } from '../exit-codes.ts'
import { resourceOrSimilar } from '../find-missing.ts'
import { addCommonOptions, type CommonFlags } from '../options.ts'
import { createOutput } from '../output.ts'
import { type ContentFlags, ContentWriter } from '../results/show-content.ts'
import { splitWords } from '../words.ts'

type ReadFlags = CommonFlags & ContentFlags

/** Registers `tenon read`: reads a resource. */
export function registerRead(program: Command): void {
  const command = program
    .command('read')
    .description('read a resource, or fill in a resource template and read it')
    .addHelpText(
      'before',
      "Example: tenon read https://example.com/mcp notes://today\n         tenon read 'notes://{day}' day=today -- node server.js\n",
    )
    .argument('[target]', 'a URL, a file, or the name of a server in a config file; a command follows "--"')
    .argument('[uri]', 'the URI of a resource, or a URI template')
    .argument('[key=value...]', 'the variables of a template')
    .option('--output <folder>', 'save binary content there')
    .option('--raw', 'print exactly what the server sent')
  addCommonOptions(command)
  command.action(() => read(command.args, command.opts<ReadFlags>(), program))
}

async function read(words: readonly string[], flags: ReadFlags, program: Command): Promise<void> {
  const output = createOutput(flags)
  const { target, rest } = splitWords(words, program)
  const [template, ...pairs] = rest
  if (template === undefined) throw usageError('No URI was given.', 'Write: tenon read <target> <uri>')
  const uri = expand(template, parseTextWords(pairs))
  await using client = await connectTarget(target, flags, output)
  const { contents } = await resourceOrSimilar(client.readResource(uri), uri, client)
  const writer = new ContentWriter(output, flags, 'resource')
  for (const item of contents) writer.resource(item)
  if (output.isJson) output.printJson({ contents, files: writer.files })
  else if (contents.length === 0) output.note('The resource is empty.')
}

/** Fills in a template. A URI without variables stays as it is. */
function expand(template: string, values: Readonly<Record<string, string>>): string {
  if (!template.includes('{')) {
    const [name] = Object.keys(values)
    if (name === undefined) return template
    throw usageError(`"${template}" has no variable "${name}".`, 'A template has variables in braces: notes://{day}')
  }
  const parsed = parseTemplate(template)
  const optional = (template.match(/\{[?&;][^}]*\}/g) ?? []).join()
  const missing = parsed.variableNames.filter((name) => !Object.hasOwn(values, name) && !optional.includes(name))
  const unknown = Object.keys(values).find((name) => !parsed.variableNames.includes(name))
  if (unknown !== undefined) throw usageError(`"${template}" has no variable "${unknown}".`)
  if (missing.length > 0) {
    const shown = missing.map((name) => `${name}=...`).join(' ')
    throw usageError(`Values are missing for "${template}".`, `Add ${shown}. "tenon complete" suggests values.`)
  }
  return parsed.expand({ ...values })
}

function parseTemplate(template: string): UriTemplate {
  try {
    return new UriTemplate(template)
  } catch (error) {
    throw usageError(`Not a URI template: ${template} (${error instanceof Error ? error.message : String(error)})`)
  }
}
