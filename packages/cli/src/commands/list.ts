import type { Command } from 'commander'
import { findServer } from '../config-files.ts'
import { connectTarget } from '../connect-target.ts'
import { usageError } from '../exit-codes.ts'
import { viewOffer } from '../list/offer-view.ts'
import { type ListKind, listKinds, readOffer } from '../list/read-offer.ts'
import { addCommonOptions, type CommonFlags } from '../options.ts'
import { createOutput } from '../output.ts'
import type { TargetWords } from '../target.ts'
import { addTargetArgument, wordsOf } from '../words.ts'

/** Registers `tenon list`: shows what a server offers. */
export function registerList(program: Command): void {
  const command = program
    .command('list')
    .description(
      'show the tools, prompts and resources of a server; without a target, the state of all configured servers',
    )
    .addHelpText('before', 'Example: tenon list node server.js\n         tenon list tools https://example.com/mcp\n')
    .argument('[kind]', 'show only "tools", "prompts" or "resources"; tools with their arguments')
  addTargetArgument(command, 'target', 'a URL, a command, a file, or the name of a server in a config file')
  addCommonOptions(command)
  command.action(() => list(command.args, command.opts<CommonFlags>(), program))
}

async function list(words: readonly string[], flags: CommonFlags, program: Command): Promise<void> {
  const output = createOutput(flags)
  const { kind, target } = readWords(words, program)
  await using client = await connectTarget(target, flags, output)
  const offer = await readOffer(client, kind ? [kind] : undefined)
  if (output.isJson) output.printJson(offer)
  else output.print(...viewOffer(offer, output, { withUsage: kind === 'tools' }))
}

interface ListWords {
  readonly kind: ListKind | undefined
  readonly target: TargetWords
}

/** The first word may be the name of a list, unless it is a server of a config file and nothing follows. */
function readWords(words: readonly string[], program: Command): ListWords {
  const [first, ...rest] = words
  const kind = listKinds.find((each) => each === first)
  if (!kind) return { kind: undefined, target: wordsOf(words, program) }
  if (rest.length > 0) return { kind, target: wordsOf(rest, program) }
  if (findServer(kind)) return { kind: undefined, target: wordsOf(words, program) }
  throw usageError(`No server was given whose ${kind} to list.`, `Write: tenon list ${kind} <target>`)
}
