import { contentsProblem, describeType } from '../../protocol/content.ts'
import type { ReadResourceResult, ResourceContents } from '../../protocol/resources.ts'
import { badOutput, type FeatureServer, isResultWith } from './feature.ts'
import type { ResourceConfig } from './resource-config.ts'

/** Turns what a read function returned into a result. Undefined means that the resource does not exist. */
export function toReadResult(
  server: Pick<FeatureServer, 'reportError'>,
  returned: unknown,
  uri: string,
  { ttlMs, cacheScope, mimeType }: ResourceConfig,
): ReadResourceResult | undefined {
  if (returned === undefined || returned === null) return undefined
  const result = isResultWith(returned, 'contents') ? returned : { contents: [toContents(server, returned, uri)] }
  const contents = result.contents as ResourceContents[]
  for (const [index, item] of contents.entries()) {
    const problem = contentsProblem(item)
    if (problem === undefined) continue
    throw badOutput(server, `Reading ${uri} returned an invalid result: contents[${index}]${problem}`)
  }
  return {
    ...(ttlMs !== undefined && { ttlMs }),
    ...(cacheScope !== undefined && { cacheScope }),
    ...result,
    contents: contents.map((item) => withMimeType(item, mimeType)),
  }
}

function toContents(server: Pick<FeatureServer, 'reportError'>, value: unknown, uri: string): ResourceContents {
  if (typeof value === 'string') return { uri, text: value }
  if (value instanceof Uint8Array) return { uri, blob: toBase64(value) }
  throw badOutput(server, `Reading ${uri} returned ${describeType(value)}. Return { contents }, text or bytes.`)
}

function withMimeType(item: ResourceContents, mimeType: string | undefined): ResourceContents {
  return item.mimeType !== undefined || mimeType === undefined ? item : { ...item, mimeType }
}

function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000))
  return btoa(binary)
}
