import type { Command } from 'commander'
import { findConfigFiles } from 'tenon/host/node'
import { safeLine } from 'tenon/internal'
import { ChatLoop } from '../chat/chat-loop.ts'
import { type LoadedModel, loadModel } from '../chat/load-model.ts'
import { noteMissing, resolveFolders } from '../chat/root-folders.ts'
import { createTerminal } from '../chat/terminal.ts'
import { usageError } from '../exit-codes.ts'
import { noteFindings } from '../host/finding-notes.ts'
import { readPolicy } from '../host/host-files.ts'
import { connectAll, type HostFlags, openHost } from '../host/open-host.ts'
import { viewServers } from '../host/server-view.ts'
import {
  addColorOption,
  addHostTargetOptions,
  type ConfigFlags,
  type ConnectionFlags,
  collect,
  type OutputFlags,
} from '../options.ts'
import { createOutput, type Output } from '../output.ts'
import { type HostServers, resolveServers } from '../target.ts'
import { addTargetArgument, wordsOf } from '../words.ts'

interface ChatFlags extends OutputFlags, ConfigFlags, ConnectionFlags, HostFlags {
  root?: string[] | false
  model?: string
}

/** Registers `tenon chat`: a host on the terminal. */
export function registerChat(program: Command): void {
  const command = program
    .command('chat')
    .description('use servers from the terminal, yourself or through a model')
    .addHelpText('before', 'Example: tenon chat mcp.json\n')
    .option('--policy <file>', 'rules that allow, deny or ask')
    .option('--audit <file>', 'record what happens')
    .option('--store <file>', "where approvals are kept (default: in the user's config folder)")
    .option(
      '--root <folder>',
      'a folder that servers may know, if you agree (repeatable; default: this folder)',
      collect,
    )
    .option('--no-root', 'show servers no folder')
    .option('--model <name>', 'the model, if ANTHROPIC_API_KEY or OPENAI_API_KEY is set')
  addTargetArgument(
    command,
    'config',
    'a config file, or a single server as for "tenon list" (default: the first one found)',
  )
  addHostTargetOptions(command)
  addColorOption(command)
  command.action((words: string[], flags: ChatFlags) => chat(words, flags, program))
}

async function chat(words: string[], flags: ChatFlags, program: Command): Promise<void> {
  const output = createOutput(flags)
  const joined = chooseServers(words, flags, program, output)
  for (const warning of joined.warnings) output.note(safeLine(`Config: ${warning}`, 1_000))
  const roots = rootsOf(flags)
  noteMissing(roots, output)
  const loaded = await loadModel(flags.model)
  const terminal = createTerminal(flags.color)
  try {
    await using host = await openHost(joined, flags, output, {
      policy: flags.policy === undefined ? [] : readPolicy(flags.policy),
      approve: terminal.denials.approve,
      audit: flags.audit,
      roots,
      ...(terminal.input && { input: terminal.input }),
      ...('model' in loaded && { model: loaded.model }),
    })
    noteFindings(host, output, (print) => terminal.lines.interject(print))
    await connectAll(host)
    output.note(...(await viewServers(host, output.width, output.notePaint)), welcome(loaded))
    await terminal.watch(host)
    await new ChatLoop(host, output, terminal, loaded).run()
  } finally {
    terminal.lines.close()
  }
}

/** The folder that the user works in is offered. Servers get it only after the user agreed. */
function rootsOf({ root = [] }: ChatFlags): string[] {
  if (root === false) return []
  return root.length > 0 ? resolveFolders(root) : [process.cwd()]
}

/** Without an argument, the config file of the folder or of the user. Nothing is started without approval. */
function chooseServers(words: string[], flags: ChatFlags, program: Command, output: Output): HostServers {
  const target = wordsOf(words, program)
  if (target.words.length > 0 || flags.config !== undefined) return resolveServers(target, flags)
  const [found] = findConfigFiles()
  if (!found) throw usageError('No config file was found.', 'Pass one: tenon chat mcp.json')
  output.note(safeLine(`Using ${found.path}`, 1_000))
  return resolveServers(target, { ...flags, config: found.path })
}

function welcome(loaded: LoadedModel): string {
  if ('model' in loaded) return `The model is ${safeLine(loaded.name)}. Type a message, or /help for commands.`
  return 'You are the model: call tools with /call. Type /help for all commands.'
}
