import { McpError } from '../errors.ts'
import type { RequestOptions } from '../jsonrpc/pending.ts'
import type { EmbeddedResource, Role } from '../protocol/content.ts'
import type { Resource, ResourceContents } from '../protocol/resources.ts'
import type { Client } from './client.ts'

/** Which resources `includeResources` takes. */
export interface IncludeRule extends RequestOptions {
  /** Leaves out resources whose annotations name other audiences only. Default `assistant`. */
  audience?: Role | undefined
  /** Leaves out resources with a lower priority. Resources without one have priority 0.5. Default 0. */
  minPriority?: number | undefined
  /** Chooses further, for example by type: `({ mimeType }) => mimeType === 'text/markdown'`. Default: all. */
  filter?: ((resource: Resource) => boolean) | undefined
  /** Maximum size of all contents together, in characters; base64 for binary contents. Default 100,000. */
  maxChars?: number | undefined
  /** Maximum number of resources. Default 20. */
  maxResources?: number | undefined
}

/** What `includeResources` read. */
export interface IncludedResources {
  /** Content blocks, the most important first. */
  readonly content: EmbeddedResource[]
  /** Resources that the rule selects, but that are not included. */
  readonly skipped: readonly SkippedResource[]
}

/** A resource that was not included, because it or all together are too large, or because it could not be read. */
export interface SkippedResource {
  readonly resource: Resource
  readonly reason: 'too-large' | 'too-many' | 'failed'
  /** Why it could not be read. */
  readonly error?: unknown
}

/** A resource is neither required nor optional unless its server says so. */
const defaultPriority = 0.5

/**
 * Reads the resources of a server that a rule selects, as content blocks for a prompt or a model call: the highest priority first,
 * then the newest, until the budget is used. A resource that is too large or cannot be read does not prevent the others.
 *
 * @example
 * ```ts
 * const { content } = await includeResources(client, { minPriority: 0.7, maxChars: 20_000 })
 * const messages = [{ role: 'user', content: [...content, { type: 'text', text: question }] }]
 * ```
 */
export async function includeResources(client: Client, rule: IncludeRule = {}): Promise<IncludedResources> {
  const {
    audience = 'assistant',
    minPriority = 0,
    filter = () => true,
    maxChars = 100_000,
    maxResources = 20,
    ...options
  } = rule
  const resources = await client.listResources(undefined, options).all()
  const selected = resources
    .filter((resource) => isFor(audience, resource) && priorityOf(resource) >= minPriority && filter(resource))
    .sort((a, b) => priorityOf(b) - priorityOf(a) || modifiedAt(b) - modifiedAt(a))
  const content: EmbeddedResource[] = []
  const skipped: SkippedResource[] = []
  let charsLeft = maxChars
  let included = 0
  for (const resource of selected) {
    // A character of text takes at most four bytes.
    const isTooLarge = (resource.size ?? 0) > charsLeft * 4
    const reason = included >= maxResources ? 'too-many' : isTooLarge && 'too-large'
    const read = reason ? ({ reason } as const) : await readWithin(charsLeft, client, resource, options)
    if ('reason' in read) {
      skipped.push({ resource, ...read })
      continue
    }
    included++
    charsLeft -= read.chars
    content.push(...read.contents.map((item) => toBlock(item, resource)))
  }
  return { content, skipped }
}

type Skipped = Omit<SkippedResource, 'resource'>

async function readWithin(
  maxChars: number,
  client: Client,
  { uri }: Resource,
  options: RequestOptions,
): Promise<{ contents: ResourceContents[]; chars: number } | Skipped> {
  try {
    const { contents } = await client.readResource(uri, options)
    const chars = contents.reduce((sum, item) => sum + ('text' in item ? item.text : item.blob).length, 0)
    return chars > maxChars ? { reason: 'too-large' } : { contents, chars }
  } catch (error) {
    // The caller gave up, or nothing can be read any more.
    if (options.signal?.aborted || isOver(error)) throw error
    return { reason: 'failed', error }
  }
}

function isOver(error: unknown): boolean {
  return error instanceof McpError && (error.code === 'closed' || error.code === 'not-connected')
}

function toBlock(resource: ResourceContents, { annotations }: Resource): EmbeddedResource {
  return { type: 'resource', resource, ...(annotations && { annotations }) }
}

function isFor(role: Role, { annotations }: Resource): boolean {
  return !Array.isArray(annotations?.audience) || annotations.audience.includes(role)
}

function priorityOf({ annotations }: Resource): number {
  return typeof annotations?.priority === 'number' ? annotations.priority : defaultPriority
}

function modifiedAt({ annotations }: Resource): number {
  return Date.parse(annotations?.lastModified ?? '') || 0
}
