import type { Command } from 'commander'
import { safeLine } from 'tenon/internal'
import { createInspector, type Inspector } from '../inspector/inspector.ts'
import { listen } from '../inspector/listen.ts'
import { openOnKey, openPage } from '../inspector/open-page.ts'
import {
  addColorOption,
  addJsonOption,
  addRevisionOption,
  addTargetOptions,
  type ConfigFlags,
  type ConnectionFlags,
  type OutputFlags,
  parsePort,
  type RevisionFlags,
} from '../options.ts'
import { createOutput, type Output } from '../output.ts'
import { untilStopped } from '../stop-signal.ts'
import { resolveServers, type TargetWords } from '../target.ts'
import { addTargetArgument, wordsOf } from '../words.ts'

interface InspectFlags extends OutputFlags, ConfigFlags, ConnectionFlags, RevisionFlags {
  port: number
  open?: boolean
}

/** Registers `tenon inspect`: a page that shows what servers offer and every message. */
export function registerInspect(program: Command): void {
  const command = program
    .command('inspect')
    .description('inspect servers on a web page')
    .addHelpText('before', 'Example: tenon inspect node server.js\n')
    .option('--port <number>', 'the port of the page; 0 picks a free one', parsePort, 0)
    .option('--open', 'open the page in the browser')
  addTargetArgument(command, 'target', 'a URL, a command, a file, or the name of a server in a config file')
  addTargetOptions(command)
  addRevisionOption(command)
  addJsonOption(command)
  addColorOption(command)
  command.action((words: string[], flags: InspectFlags) => inspect(words, flags, program))
}

async function inspect(words: string[], flags: InspectFlags, program: Command): Promise<void> {
  const output = createOutput(flags)
  const inspector = createInspector({ timeoutMs: flags.timeout, config: flags.config })
  connectAll(inspector, wordsOf(words, program), flags, output)
  const served = await listen(inspector, flags.port)
  const stopped = untilStopped()
  if (output.isJson) output.printJson({ url: served.url })
  else output.print(served.url)
  const stopKeys = flags.open ? () => {} : openOnKey(served.url, output)
  if (flags.open) await openPage(served.url, output)
  await stopped
  stopKeys()
  await served.close()
  await inspector.close()
  // A server process that does not end must not keep this one alive.
  process.exit()
}

/** Connects to a target, or to all servers of a config file. Without words, the user chooses on the page. */
function connectAll(inspector: Inspector, target: TargetWords, flags: InspectFlags, output: Output): void {
  if (target.words.length === 0 && flags.config === undefined) return
  const { servers, warnings, path, source = path } = resolveServers(target, flags)
  for (const warning of warnings) output.note(safeLine(`Config: ${warning}`, 1_000))
  for (const [id, config] of Object.entries(servers))
    inspector.connectTo({ id, config, source }, { revision: flags.revision, headers: flags.header })
}
