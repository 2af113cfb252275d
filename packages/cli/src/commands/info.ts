import type { Command } from 'commander'
import type { Implementation, Prompt, Resource, ResourceTemplateInfo, ServerCapabilities, Tool } from 'tenon'
import type { Client } from 'tenon/client'
import { connectTarget } from '../connect-target.ts'
import { viewInfo } from '../list/info-view.ts'
import { readOffer } from '../list/read-offer.ts'
import { notFound } from '../not-found.ts'
import { addCommonOptions, type CommonFlags } from '../options.ts'
import { createOutput } from '../output.ts'
import { addTargetArgument, wordsOf } from '../words.ts'

interface InfoFlags extends CommonFlags {
  tool?: string
  prompt?: string
  resource?: string
}

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

/** The output of `tenon info --json`, documented in docs/cli.md. */
export interface Info {
  readonly server: Implementation | null
  readonly revision: string
  readonly capabilities: ServerCapabilities
  readonly instructions: string | null
  readonly counts: Readonly<Record<'tools' | 'prompts' | 'resources' | 'resourceTemplates', number>>
  readonly tool?: Tool
  readonly prompt?: Prompt
  readonly resource?: Resource
  readonly resourceTemplate?: ResourceTemplateInfo
}

async function info(words: string[], flags: InfoFlags, program: Command): Promise<void> {
  const output = createOutput(flags)
  await using client = await connectTarget(wordsOf(words, program), flags, output)
  const found = await readInfo(client, flags)
  if (output.isJson) output.printJson(found)
  else output.print(...viewInfo(found, output))
}

async function readInfo(client: Client, flags: InfoFlags): Promise<Info> {
  const { info: server, capabilities, instructions } = client.server
  const { tools = [], prompts = [], resources = [], resourceTemplates = [] } = await readOffer(client)
  return {
    server: server ?? null,
    revision: client.revision,
    capabilities,
    instructions: instructions ?? null,
    counts: {
      tools: tools.length,
      prompts: prompts.length,
      resources: resources.length,
      resourceTemplates: resourceTemplates.length,
    },
    ...(flags.tool !== undefined && { tool: find(tools, 'tool', flags.tool, ({ name }) => name) }),
    ...(flags.prompt !== undefined && { prompt: find(prompts, 'prompt', flags.prompt, ({ name }) => name) }),
    ...(flags.resource !== undefined && findResource(resources, resourceTemplates, flags.resource)),
  }
}

function findResource(
  resources: readonly Resource[],
  templates: readonly ResourceTemplateInfo[],
  uri: string,
): Pick<Info, 'resource' | 'resourceTemplate'> {
  const template = templates.find(({ uriTemplate }) => uriTemplate === uri)
  if (template) return { resourceTemplate: template }
  return { resource: find(resources, 'resource', uri, (each) => each.uri) }
}

function find<T>(items: readonly T[], kind: string, name: string, nameOf: (item: T) => string): T {
  const found = items.find((item) => nameOf(item) === name)
  if (found) return found
  throw notFound(kind, name, items.map(nameOf))
}
