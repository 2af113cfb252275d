import type { Implementation, Prompt, Resource, ResourceTemplateInfo, ServerCapabilities, Tool } from 'tenon'
import type { Client } from 'tenon/client'
import { notFound } from '../not-found.ts'
import { readOffer } from './read-offer.ts'

/** The items that the user asked for. */
export interface InfoChoice {
  tool?: string
  prompt?: string
  resource?: string
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

/** Reads what `tenon info` shows. */
export async function readInfo(client: Client, flags: InfoChoice): Promise<Info> {
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
