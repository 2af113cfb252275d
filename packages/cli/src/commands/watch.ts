import { type Command, Option } from 'commander'
import { type LoggingLevel, loggingLevels } from 'tenon'
import type { Client } from 'tenon/client'
import { safeJson } from 'tenon/internal'
import { connectTarget } from '../connect-target.ts'
import { CliError, exitCodes, usageError } from '../exit-codes.ts'
import { addCommonOptions, type CommonFlags } from '../options.ts'
import { createOutput, type Output } from '../output.ts'
import { untilStopped } from '../stop-signal.ts'
import { viewEvent } from '../watch/event-view.ts'
import { watchEvents } from '../watch/events.ts'
import { splitWords } from '../words.ts'

interface WatchFlags extends CommonFlags {
  level?: LoggingLevel
}

/** Registers `tenon watch`: prints changes and log messages as they come. */
export function registerWatch(program: Command): void {
  const command = program
    .command('watch')
    .description('print change notifications and log messages as they come, until Ctrl-C')
    .addHelpText(
      'before',
      'Example: tenon watch https://example.com/mcp\n         tenon watch https://example.com/mcp notes://today\n',
    )
    .argument('[target]', 'a URL, a file, or the name of a server in a config file; a command follows "--"')
    .argument('[uri...]', 'resources to subscribe to')
    .addOption(new Option('--level <level>', 'the least severe log messages to print').choices([...loggingLevels]))
  addCommonOptions(command)
  command.action(() => watch(command.args, command.opts<WatchFlags>(), program))
}

async function watch(words: readonly string[], flags: WatchFlags, program: Command): Promise<void> {
  const output = createOutput(flags)
  const { target, rest: uris } = splitWords(words, program)
  const stopped = untilStopped()
  await using client = await connectTarget(target, flags, output, { ...(flags.level && { logLevel: flags.level }) })
  const closed = untilClosed(client)
  // Nobody waits for it if subscribing fails.
  closed.catch(() => {})
  watchEvents(client, (event) => {
    if (output.isJson) process.stdout.write(`${safeJson(event).replace(/\n\s*/g, ' ')}\n`)
    else output.print(...viewEvent(event, output))
  })
  await subscribe(client, uris, flags)
  announce(client, uris, output)
  await Promise.race([stopped, closed])
}

/** Subscribes to everything that the server offers, and to the resources that the user named. */
async function subscribe(client: Client, uris: readonly string[], { level }: WatchFlags): Promise<void> {
  const { tools, prompts, resources, logging } = client.server.capabilities
  if (uris.length > 0 && !resources?.subscribe) {
    throw usageError('The server has no subscriptions to resources.', 'Leave out the URI to watch everything else.')
  }
  await client.listen({
    ...(tools?.listChanged && { toolsListChanged: true }),
    ...(prompts?.listChanged && { promptsListChanged: true }),
    ...(resources?.listChanged && { resourcesListChanged: true }),
    ...(uris.length > 0 && { resourceSubscriptions: [...uris] }),
  })
  if (logging) await client.setLoggingLevel(level ?? 'info')
}

function announce(client: Client, uris: readonly string[], output: Output): void {
  const name = client.server.info?.name ?? 'the server'
  const what = uris.length === 0 ? '' : ` and ${uris.length === 1 ? 'a resource' : `${uris.length} resources`}`
  output.note(output.notePaint.faint(`Watching ${safeJson(name)}${what}. Press Ctrl-C to stop.`))
}

/** Rejects if the connection is lost for good. */
function untilClosed(client: Client): Promise<never> {
  return new Promise((_resolve, reject) => {
    client.on('state', ({ state, reason }) => {
      if (state !== 'closed') return
      reject(new CliError('closed', reason ?? 'The connection was closed.', { exitCode: exitCodes.connection }))
    })
  })
}
