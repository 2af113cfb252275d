import { PeerError } from 'tenon'
import { CapabilityError, type Client, isResourceNotFound } from 'tenon/client'
import { notFound } from './not-found.ts'

/**
 * Waits for a prompt.
 * @throws CliError with similar names if the server has none with this name
 */
export async function promptOrSimilar<T>(work: Promise<T>, name: string, client: Client): Promise<T> {
  return work.catch(async (error: unknown) => {
    if (error instanceof CapabilityError) throw notFound('prompt', name, [])
    if (!(error instanceof PeerError)) throw error
    const names = (await first(client.listPrompts())).map((prompt) => prompt.name)
    throw names.includes(name) ? error : notFound('prompt', name, names)
  })
}

/**
 * Waits for a resource.
 * @throws CliError with similar URIs if the server has none with this URI
 */
export async function resourceOrSimilar<T>(work: Promise<T>, uri: string, client: Client): Promise<T> {
  return work.catch(async (error: unknown) => {
    if (error instanceof CapabilityError) throw notFound('resource', uri, [])
    if (!isResourceNotFound(error)) throw error
    const uris = (await first(client.listResources())).map((resource) => resource.uri)
    throw uris.includes(uri) ? error : notFound('resource', uri, uris)
  })
}

/** A server could send pages for ever. */
const maxItems = 1_000

async function first<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) if (all.push(item) >= maxItems) break
  return all
}
