import type { Implementation, Prompt, Resource, ResourceTemplateInfo, ServerCapabilities, Tool } from 'tenon'
import type { Client } from 'tenon/client'

/** The lists that a server may have. */
export type ListKind = 'tools' | 'prompts' | 'resources'

export const listKinds: readonly ListKind[] = ['tools', 'prompts', 'resources']

/** What a server offers. Lists that were not asked for are missing. */
export interface Offer {
  readonly server: ServerName | null
  readonly revision: string
  readonly instructions: string | null
  readonly tools?: readonly Tool[]
  readonly prompts?: readonly Prompt[]
  readonly resourceTemplates?: readonly ResourceTemplateInfo[]
  readonly resources?: readonly Resource[]
}

/** The name of a server, without icons. */
export type ServerName = Pick<Implementation, 'name' | 'version' | 'title'>

/** Reads the lists of a server completely. */
export async function readOffer(client: Client, kinds: readonly ListKind[] = listKinds): Promise<Offer> {
  const { info, capabilities, instructions } = client.server
  return {
    server: info ? nameOf(info) : null,
    revision: client.revision,
    instructions: instructions ?? null,
    ...(kinds.includes('tools') && { tools: await readTools(client, capabilities) }),
    ...(kinds.includes('prompts') && { prompts: capabilities.prompts ? await collect(client.listPrompts()) : [] }),
    ...(kinds.includes('resources') && {
      resourceTemplates: capabilities.resources ? await collect(client.listResourceTemplates()) : [],
      resources: capabilities.resources ? await collect(client.listResources()) : [],
    }),
  }
}

/** The name, version and title of a server. */
export function nameOf({ name, version, title }: Implementation): ServerName {
  return { name, version, ...(title !== undefined && { title }) }
}

async function readTools(client: Client, { tools }: ServerCapabilities): Promise<Tool[]> {
  return tools ? collect(client.listTools()) : []
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
