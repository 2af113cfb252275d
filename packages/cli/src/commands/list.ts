import type { Command } from 'commander'
import { findServer } from '../config-files.ts'
import { connectTarget } from '../connect-target.ts'
import { usageError } from '../exit-codes.ts'
import { rememberTools } from '../known-tools.ts'
import { viewOffer } from '../list/offer-view.ts'
import { type ListKind, listKinds, readOffer } from '../list/read-offer.ts'
import { addCommonOptions, type CommonFlags } from '../options.ts'
import { createOutput, type Output } from '../output.ts'
import { type TargetWords, targetHint } from '../target.ts'
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
  if (words.length === 0) return await listServers(flags, output)
  const { kind, target } = readWords(words, program)
  await using client = await connectTarget(target, flags, output)
  const offer = await readOffer(client, kind ? [kind] : undefined)
  if (offer.tools) rememberTools(target, flags, offer.tools)
  if (output.isJson) output.printJson(offer)
  else output.print(...viewOffer(offer, output, { withUsage: kind === 'tools' }))
}

/** Without a target: all configured servers. */
async function listServers(flags: CommonFlags, output: Output): Promise<void> {
  // Only this needs the host, which is large.
  const { checkServers } = await import('../list/check-servers.ts')
  const servers = await checkServers(flags, output)
  if (servers.length === 0) throw usageError('No server was given, and no config file has one.', targetHint())
  if (output.isJson) return output.printJson({ servers })
  const { viewCheckedServers } = await import('../list/servers-view.ts')
  output.print(...viewCheckedServers(servers, output))
  if (servers.some(({ state }) => state === 'not approved'))
    output.note('To approve servers, run "tenon list" in a terminal.')
  if (servers.some(({ state }) => state === 'login required')) output.note('Log in with "tenon login <name>".')
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
