import type { Command } from 'commander'
import type { Prompt, Resource, ResourceTemplateInfo, Tool } from 'tenon'
import { type Client, getDisplayName } from 'tenon/client'
import {
  addColorOption,
  addJsonOption,
  addRevisionOption,
  addTargetOptions,
  type ConfigFlags,
  type ConnectionFlags,
  type OutputFlags,
  type RevisionFlags,
} from '../options.ts'
import { createOutput, type Output, quote, twoColumns } from '../output.ts'
import { fit, safeLine, wrap } from '../safe-text.ts'
import { describeTarget, openTarget, resolveTarget } from '../target.ts'
import { addTargetArgument, wordsOf } from '../words.ts'

type ListFlags = OutputFlags & ConfigFlags & ConnectionFlags & RevisionFlags

/** Registers `tenon list`: shows what a server offers. */
export function registerList(program: Command): void {
  const command = program
    .command('list')
    .description('show the tools, prompts and resources of a server')
    .addHelpText('before', 'Example: tenon list node server.js\n')
  addTargetArgument(command, 'target', 'a URL, a command, a file, or the name of a server in a config file')
  addTargetOptions(command)
  addRevisionOption(command)
  addJsonOption(command)
  addColorOption(command)
  command.action((words: string[], flags: ListFlags) => list(words, flags, program))
}

async function list(words: string[], flags: ListFlags, program: Command): Promise<void> {
  const output = createOutput(flags)
  const target = resolveTarget(wordsOf(words, program), flags)
  // The user typed only a name, so show what it stands for.
  if (target.source !== undefined)
    output.note(...wrap(safeLine(`${target.id} from ${target.source}: ${describeTarget(target)}`, 2_000), output.width))
  await using client = await openTarget(target, flags)
  const offer = await readOffer(client)
  if (output.isJson) output.printJson(offer)
  else output.print(...view(offer, output))
}

/** The output of `tenon list --json`, documented in docs/cli.md. */
interface Offer {
  readonly server: { readonly name: string; readonly version: string; readonly title?: string | undefined } | null
  readonly revision: string
  readonly instructions: string | null
  readonly tools: readonly Tool[]
  readonly prompts: readonly Prompt[]
  readonly resourceTemplates: readonly ResourceTemplateInfo[]
  readonly resources: readonly Resource[]
}

async function readOffer(client: Client): Promise<Offer> {
  const { info, capabilities, instructions } = client.server
  const { tools, prompts, resources } = capabilities
  return {
    server: info ? { name: info.name, version: info.version, ...(info.title && { title: info.title }) } : null,
    revision: client.revision ?? '',
    instructions: instructions ?? null,
    tools: tools ? await collect(client.listTools()) : [],
    prompts: prompts ? await collect(client.listPrompts()) : [],
    resourceTemplates: resources ? await collect(client.listResourceTemplates()) : [],
    resources: resources ? await collect(client.listResources()) : [],
  }
}

/** A server could send pages for ever. */
const maxItems = 100_000

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) {
    all.push(item)
    if (all.length >= maxItems) break
  }
  return all
}

function view(offer: Offer, output: Output): string[] {
  const { server, revision, instructions, tools, prompts, resourceTemplates, resources } = offer
  const { paint, width } = output
  const name = server ? fit(safeLine(`${server.name} ${server.version}`), width - 22) : 'A server without a name'
  return [
    `${paint.strong(name)}  ${paint.faint(`revision ${revision}`)}`,
    ...(instructions ? quote(instructions, width, paint, 300) : []),
    ...section(
      'Tools',
      tools.map((tool) => [tool.name, tool.description ?? titleOf(tool)]),
      output,
    ),
    ...section(
      'Prompts',
      prompts.map((prompt) => [prompt.name, prompt.description ?? prompt.title]),
      output,
    ),
    ...section(
      'Resource templates',
      resourceTemplates.map((template) => [template.uriTemplate, template.description ?? template.name]),
      output,
    ),
    ...section(
      'Resources',
      resources.map((resource) => [resource.uri, resource.description ?? resource.name]),
      output,
    ),
  ]
}

function titleOf(tool: Tool): string | undefined {
  const title = getDisplayName(tool)
  return title === tool.name ? undefined : title
}

function section(title: string, items: readonly (readonly [string, string | undefined])[], output: Output): string[] {
  if (items.length === 0) return []
  const rows = items.map(([name, text = '']) => [safeLine(name, 2_000), safeLine(text)] as const)
  return ['', `${output.paint.strong(title)} ${output.paint.faint(`(${items.length})`)}`, ...twoColumns(rows, output)]
}
