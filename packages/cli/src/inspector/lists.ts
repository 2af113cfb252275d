import type { Client } from 'tenon/client'
import type { JsonObject } from 'tenon/internal'
import type { EventLog } from './event-log.ts'
import type { ListName, ListRead } from './protocol.ts'
import { toShownError } from './shown-error.ts'

/** The lists of a server. */
export const listNames = ['tools', 'resources', 'resourceTemplates', 'prompts'] as const satisfies readonly ListName[]

/** Items of one event. */
const maxItems = 500
/** Characters of one event, unless a single item is larger. */
const maxChars = 256 * 1024
/** A server could send pages for ever. */
const maxTotal = 100_000
const maxTotalChars = 64 * 1024 * 1024

/** Returns the lists that a server has according to its capabilities. */
export function offeredLists(client: Client): ListName[] {
  const { tools, resources, prompts } = client.server.capabilities
  const isOffered = { tools, resources, resourceTemplates: resources, prompts }
  return listNames.filter((name) => isOffered[name] !== undefined)
}

/**
 * Reads a list of a server and logs it.
 * @returns The items.
 * @throws after what arrived was logged, if the list could not be read to its end
 */
export async function readList(client: Client, server: string, list: ListName, log: EventLog): Promise<JsonObject[]> {
  const items: JsonObject[] = []
  try {
    await collect(itemsOf(client, list), items)
  } catch (error) {
    logList({ server, list, items, error: toShownError(error) }, log)
    throw error
  }
  logList({ server, list, items }, log)
  return items
}

/** Reads the list of tools for the client itself, which then knows their schemas. */
export async function readTools(client: Client): Promise<void> {
  if (client.server.capabilities.tools !== undefined) await collect(client.listTools(), [])
}

async function collect(source: AsyncIterable<object>, items: JsonObject[]): Promise<void> {
  let chars = 0
  for await (const item of source) {
    items.push(item as JsonObject)
    chars += JSON.stringify(item).length
    if (items.length >= maxTotal || chars >= maxTotalChars)
      throw new Error(`The list is too long: only the first ${items.length} items were read`)
  }
}

function itemsOf(client: Client, list: ListName): AsyncIterable<object> {
  switch (list) {
    case 'tools':
      return client.listTools()
    case 'resources':
      return client.listResources()
    case 'resourceTemplates':
      return client.listResourceTemplates()
    case 'prompts':
      return client.listPrompts()
  }
}

function logList({ items, ...rest }: Pick<ListRead, 'server' | 'list' | 'items' | 'error'>, log: EventLog): void {
  let offset = 0
  do {
    const part = partAt(items, offset)
    log.append({ kind: 'list', ...rest, items: part, offset, total: items.length })
    offset += part.length
  } while (offset < items.length)
}

function partAt(items: readonly JsonObject[], offset: number): JsonObject[] {
  const part: JsonObject[] = []
  let chars = 0
  for (const item of items.slice(offset, offset + maxItems)) {
    chars += JSON.stringify(item).length
    if (part.length > 0 && chars > maxChars) break
    part.push(item)
  }
  return part
}
