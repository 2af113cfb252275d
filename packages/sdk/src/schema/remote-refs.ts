import { isObject } from '../util/objects.ts'
import { timeoutSignal } from '../util/scheduler.ts'
import { mapSubschemas } from '../util/schema-walk.ts'
import type { JsonSchema } from './json-schema.ts'
import { SchemaError } from './schema-error.ts'
import { show } from './values.ts'

export interface RemoteRefOptions {
  /** Sends the requests. Pass `guardedFetch()` of `tenon/auth/server`, which rejects private addresses. */
  fetch: (
    url: string,
    init: { redirect: 'error'; signal: AbortSignal; headers: { accept: string } },
  ) => Promise<Response>
  /** The hosts that documents may be fetched from, such as `schemas.example.com`. */
  allowedHosts: readonly string[]
  /** The maximum length of a document in characters. Default 262,144. */
  maxDocumentLength?: number | undefined
  /** The maximum number of documents. Default 20. */
  maxDocuments?: number | undefined
  /** The time limit for one document. Default 10,000. */
  timeoutMs?: number | undefined
  /** Called before each document is fetched. Default: writes a warning to the console. */
  log?: ((message: string) => void) | undefined
}

/**
 * Fetches the schemas that a JSON Schema refers to over https, and returns the schema with them in its `$defs`. Only
 * this function fetches schemas.
 *
 * @throws SchemaError if a reference is not allowed, or its document cannot be used
 */
export async function resolveRemoteRefs(schema: JsonSchema, options: RemoteRefOptions): Promise<JsonSchema> {
  const { maxDocuments = 20 } = options
  const documents = new Map<string, JsonSchema>()
  const ids = new Set<string>()
  const open = findReferences(schema, ids)
  for (let uri = open.pop(); uri !== undefined; uri = open.pop()) {
    if (ids.has(uri)) continue
    if (documents.size >= maxDocuments) {
      throw new SchemaError(`The schema refers to more than ${maxDocuments} remote documents. Raise maxDocuments.`)
    }
    const document = await fetchSchema(uri, options)
    for (const reference of findReferences(document, ids)) open.push(reference)
    documents.set(uri, document)
  }
  return documents.size === 0
    ? schema
    : { ...schema, $defs: { ...(schema.$defs as object), ...Object.fromEntries(documents) } }
}

/** Returns the documents that a schema refers to by an absolute URI. Adds the URIs of the schemas in it to `ids`. */
function findReferences(schema: JsonSchema, ids: Set<string>): string[] {
  const found: string[] = []
  const open: [value: unknown, base: string | undefined][] = [[schema, undefined]]
  for (let next = open.pop(); next; next = open.pop()) {
    const [value, outer] = next
    if (!isObject(value)) continue
    const base = typeof value.$id === 'string' ? toDocumentUri(value.$id, outer) : outer
    if (base !== undefined && base !== outer) ids.add(base)
    const target = typeof value.$ref === 'string' ? toDocumentUri(value.$ref, base) : undefined
    if (target !== undefined) found.push(target)
    mapSubschemas(value, (part) => open.push([part, base]))
  }
  return found
}

function toDocumentUri(reference: string, base: string | undefined): string | undefined {
  if (!URL.canParse(reference, base)) return undefined
  const url = new URL(reference, base)
  url.hash = ''
  return url.href
}

async function fetchSchema(uri: string, options: RemoteRefOptions): Promise<JsonSchema> {
  const { fetch, allowedHosts, maxDocumentLength = 262_144, timeoutMs = 10_000, log = console.warn } = options
  const url = new URL(uri)
  if (url.username !== '' || url.password !== '') {
    throw new SchemaError(`A remote schema of ${url.host} is not allowed: its URL contains a user name or password`)
  }
  if (url.protocol !== 'https:' || !allowedHosts.includes(url.host)) {
    throw new SchemaError(`The remote schema ${show(uri)} is not allowed. Use https: and add its host to allowedHosts.`)
  }
  log(`Fetching the schema ${uri}`)
  const signal = timeoutSignal(timeoutMs)
  // A redirect could lead to a host that is not allowed.
  const response = await fetch(uri, {
    redirect: 'error',
    signal,
    headers: { accept: 'application/schema+json, application/json' },
  })
  if (!response.ok) {
    void response.body?.cancel().catch(() => {})
    throw new SchemaError(`The remote schema ${show(uri)} cannot be used: HTTP ${response.status}`)
  }
  const text = await readText(response, maxDocumentLength)
  if (text === undefined) {
    throw new SchemaError(
      `The remote schema ${show(uri)} is longer than ${maxDocumentLength} characters. Raise maxDocumentLength.`,
    )
  }
  return parseSchema(uri, text)
}

/** Reads the body. Stops and returns undefined if it is too long. */
async function readText({ body }: Response, maxLength: number): Promise<string | undefined> {
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (text.length <= maxLength) {
    const { done, value } = (await reader?.read()) ?? { done: true as const, value: undefined }
    text += decoder.decode(value, { stream: !done })
    if (done) return text.length <= maxLength ? text : undefined
  }
  // The document is rejected in any case, so a failure to end the stream does not matter.
  void reader?.cancel().catch(() => {})
  return undefined
}

function parseSchema(uri: string, text: string): JsonSchema {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch (cause) {
    throw new SchemaError(`The remote schema ${show(uri)} is not JSON`, '', { cause })
  }
  if (!isObject(document)) throw new SchemaError(`The remote schema ${show(uri)} is not an object`)
  const id = typeof document.$id === 'string' ? toDocumentUri(document.$id, uri) : uri
  if (id !== uri) throw new SchemaError(`The remote schema ${show(uri)} has a different $id: ${show(document.$id)}`)
  return { ...document, $id: uri }
}
